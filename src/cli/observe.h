/* SPDX-License-Identifier: MIT
 * Measuring what toll did not start, until it ends or somebody has seen enough. */
#pragma once

#include "cli/session.h"

/* toll_tracker_attach, with as many descriptors as we may have. */
int observe_attach(struct session *s, struct toll_error *e);

/* The tracker is attached: measure, then finish. Returns the exit status. */
int observe(struct session *s);
