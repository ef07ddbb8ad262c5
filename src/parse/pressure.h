/* SPDX-License-Identifier: MIT
 * /proc/pressure/cpu, memory, io, and the files of the same form in a cgroup: time lost in waiting
 * (Linux 4.20 and later). */
#pragma once

#include "base/scan.h"

struct pressure {
    bool has_full;    /* of the CPU since Linux 5.13 */
    uint64_t some_ns; /* some task waited */
    uint64_t full_ns; /* every task that was not idle waited; 0 when it is not there */
};

/* 0; -EBADMSG when there is no line of "some" or a total is no number, -ENODATA when there is no
 * text. */
int parse_pressure(struct scan text, struct pressure *ret);
