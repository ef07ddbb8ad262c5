/* SPDX-License-Identifier: MIT */
#include "metric/quality.h"

const char *quality_word(enum quality q)
{
    static const char *const words[QUALITIES] = {"unknown", "lower bound", "sampled",
                                                 "exact if reaped", "exact"};
    return words[q];
}
