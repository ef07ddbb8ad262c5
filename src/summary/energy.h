/* SPDX-License-Identifier: MIT
 * The energy of a run: what its GPUs and the processors of the machine used while it lasted, of
 * whomever. */
#pragma once

#include "summary/summary.h"

struct energy {
    bool has_gpus; /* GPUs were read */
    bool knows_gpus, knows_processors;
    double gpus_joules, processors_joules;
};

/* A sum that leaves somebody out is none: one GPU without a counter, or one that has not been heard
 * of yet, makes it unknown. */
struct energy energy_of(const struct summary *s);
