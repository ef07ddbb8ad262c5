/* SPDX-License-Identifier: MIT
 * /proc/uptime: time since the machine was started. */
#pragma once

#include "base/scan.h"

/* 0, -EBADMSG, -ENODATA when there is no text. */
int parse_uptime(struct scan text, uint64_t *ret_ns);
