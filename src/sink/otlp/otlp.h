/* SPDX-License-Identifier: MIT
 * What a receiver of OTLP says to a request that it has taken, or only in part. */
#pragma once

#include "base/text/scan.h"

struct otlp_answer {
    uint64_t rejected;   /* figures that were not taken */
    struct scan message; /* why, borrowed from the answer; may be empty, and may come without any */
};

/* False: it is damaged, or nothing that we know; ret has what stood before that. */
bool otlp_answer_read(const char *text, size_t length, struct otlp_answer *ret);
