/* SPDX-License-Identifier: MIT
 * What a count of packets by cgroup can lack: data that a connection has still to send after its
 * process has ended, and sockets that were not created in the cgroup. */
#pragma once

#include "base/io/file.h"
#include "base/util.h"

/* Whether TCP connections of the cgroup that are closed have data that was not acknowledged yet: 1,
 * 0, or -errno when the kernel does not list them. In the network namespace of the caller, and of
 * sockets created in exactly this cgroup. */
int unsent_of_cgroup(uint64_t cgroup);

/* Whether a command that this process starts inherits a socket of IPv4 or IPv6; also true when that
 * cannot be known. */
bool sockets_are_inherited(const struct sysroot *root);
