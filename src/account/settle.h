/* SPDX-License-Identifier: MIT
 * What the kernel says of a thing of the machine, made to figures of the run. */
#pragma once

#include "account/rates.h"

/* Takes what counters have now as what they count from, where nothing was taken before. */
void settle_base(struct measured *m);

/* From m->read to m->row: counters from their first reading on (since_start: from the machine's
 * start), then the rates. */
void settle(struct measured *m, bool since_start, uint64_t now_ns);
