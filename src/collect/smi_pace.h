/* SPDX-License-Identifier: MIT
 * How often a command is run: it costs more than all the rest of a look. In between, what it said
 * last holds. */
#pragma once

#include "collect/gpu_vendor.h"

struct smi_pace {
    struct gpu_frame kept; /* what was read last, as the only vendor's */
    uint64_t next_ns;      /* when it may be read again */
};

bool smi_pace_is_due(const struct smi_pace *p, uint64_t now_ns);

/* It was read, and took from then until then. */
void smi_pace_took(struct smi_pace *p, uint64_t began_ns, uint64_t ended_ns);

/* Adds what is kept to a frame. */
void smi_pace_copy(const struct smi_pace *p, struct gpu_frame *f);
void smi_pace_done(struct smi_pace *p);
