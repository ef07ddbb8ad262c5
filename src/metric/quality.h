/* SPDX-License-Identifier: MIT
 * How a figure was obtained. From worst to best, so that the worse of two is the smaller. */
#pragma once

enum quality {
    QUALITY_UNKNOWN,
    QUALITY_LOWER_BOUND,     /* at least this: something was seen to be missing */
    QUALITY_SAMPLED,         /* read at moments; what lies between was not seen */
    QUALITY_EXACT_IF_REAPED, /* a kernel counter; would lack children that were discarded without
                              * being waited for, and no such loss was seen */
    QUALITY_EXACT,           /* a kernel counter that cannot miss a member */
    QUALITIES
};

/* "unknown", "lower bound", "sampled", "exact if reaped", "exact" */
const char *quality_word(enum quality q);

/* Which means gave a figure, and how good it is. */
struct verdict {
    enum quality quality;
    const char *rung; /* a name with static life, "" when unknown */
};
