/* SPDX-License-Identifier: MIT
 * Counters to rates. A mean over the run is total over time; these are the steps in between. */
#pragma once

#include "metric/frame.h"

/* ==== Rates =================================================================================== */

/* A counter that begins at zero now. */
void rates_begin(struct rate rates[RATES_PER_ENTITY], uint64_t now_ns);

/* Put the rates of the row's entity into it, from what their counters grew since they were last
 * known, which need not be the tick before. most_cores: that a process can use at once; 0: any. */
void rates_put(struct rate rates[RATES_PER_ENTITY], struct row *row, enum entity_kind kind,
               uint64_t now_ns, double most_cores);

/* ==== Settle ================================================================================== */

/* What the kernel says of a thing of the machine, made to figures of the run. */

/* Takes what counters have now as what they count from, where nothing was taken before. */
void settle_base(struct instance *m);

/* From m->read to m->row: counters from their first reading on (since_start: from the machine's
 * start), then the rates. */
void settle(struct instance *m, bool since_start, uint64_t now_ns);
