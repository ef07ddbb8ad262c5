/* SPDX-License-Identifier: MIT
 * /proc/loadavg: how many tasks want to run, and the pid handed out last. */
#pragma once

#include "base/scan.h"

struct loadavg {
    double load[3]; /* over 1, 5 and 15 minutes */
    uint64_t running;
    uint64_t threads; /* all there are */
};

/* Both: 0, -EBADMSG, -ENODATA when there is no text. */
int parse_loadavg(struct scan text, struct loadavg *ret);
int parse_loadavg_last_pid(struct scan text, uint64_t *ret);
