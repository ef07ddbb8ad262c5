/* SPDX-License-Identifier: MIT
 * The figures of one member with all its descendants. */
#pragma once

#include "account/members.h"

/* What they have used so far, and have now: own figures and inherited ones, so that children they
 * have reaped count. fresh: bits of slow figures that were read for all members. Gauges that one of
 * them has not shown yet stay unknown. False when the process is no member. */
bool subtree_sum(const struct members *members, pid_t pid, uint64_t fresh, struct row *ret);
