/* SPDX-License-Identifier: MIT */
#include "collect/collector.h"

const struct collector *const collectors[] = {
    NULL,
};
