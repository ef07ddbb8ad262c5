/* SPDX-License-Identifier: MIT
 * /proc/loadavg: only its last field is used here, the pid handed out last. */
#pragma once

#include "base/scan.h"

/* 0, -EBADMSG, -ENODATA when there is no text. */
int parse_loadavg_last_pid(struct scan text, uint64_t *ret);
