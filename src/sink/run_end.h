/* SPDX-License-Identifier: MIT
 * How a run ended, for those whose figures are read when it is over: toll_run_exit_code and the
 * like. */
#pragma once

#include "summary/summary.h"

struct run_end {
    uint64_t time_ms; /* since 1970; 0: it goes on */
    bool has_status, is_signal;
    int status;
};

/* Of a run that is over. */
void run_end_take(struct run_end *ret, const struct summary *s);

/* A figure that tells of it: number, the last so many digits of which are decimals. */
struct run_fact {
    const char *name; /* without toll_run_ */
    const char *help;
    uint64_t number;
    unsigned decimals;
};

enum { RUN_FACTS_AT_MOST = 2 };

/* How many there are; none of a run that goes on. */
size_t run_end_facts(const struct run_end *e, struct run_fact ret[RUN_FACTS_AT_MOST]);

double run_fact_value(const struct run_fact *f);
