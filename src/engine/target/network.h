/* SPDX-License-Identifier: MIT
 * Network bytes of the targets: by the interfaces of a namespace of their own, or by their TCP
 * sockets. Only when asked for: listing sockets costs more than all the rest. */
#pragma once

#include "engine/tracker.h"

void network_open(struct toll_tracker *t);
void network_close(struct toll_tracker *t);

/* After the walk: bring the totals up to date, when it is time. */
void network_tick(struct toll_tracker *t);

/* Put them into a target's row. */
void network_put(struct toll_tracker *t, struct target *g);

/* How good they are; no source when they were not asked for. */
struct provenance network_quality(const struct toll_tracker *t, const struct target *g);
