/* SPDX-License-Identifier: MIT
 * The energy of a run: what its GPUs and the processors of the machine used while it lasted, of
 * whomever. */
#pragma once

#include "summary/summary.h"

struct energy {
    bool has_gpus; /* GPUs were read */
    bool knows_gpus, knows_processors;
    enum quality gpus_quality; /* of gpus_joules, and so of the sum */
    double gpus_joules, processors_joules;
};

/* One GPU without a counter, or one whose driver has not begun, makes the sum unknown; one whose
 * counter was not read from the beginning to the end of the run makes it a lower bound. */
struct energy energy_of(const struct summary *s);
