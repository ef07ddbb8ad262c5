/* SPDX-License-Identifier: MIT
 * What kind of thing a network interface is, as /sys/class/net shows it. That is our own network
 * namespace only; of another one the name has to do. */
#pragma once

#include "base/sysroot.h"

/* "loopback", "physical" or "virtual": a string that lives for ever. */
const char *netif_class(const struct sysroot *root, bool in_sys, const char *name);

/* Whether what goes over this interface goes over another one of the list too: it is part of a
 * bridge or a bond, or it is a VLAN on top of one. Of both the other one is to be counted. */
bool netif_counts_twice(const struct sysroot *root, bool in_sys, const char *name);
