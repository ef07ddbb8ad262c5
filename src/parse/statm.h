/* SPDX-License-Identifier: MIT
 * /proc/PID/statm: memory in pages. */
#pragma once

#include "base/scan.h"

struct statm {
    uint64_t virtual_pages;
    uint64_t rss_pages;
    uint64_t shared_pages;
};

/* 0, -EBADMSG, -ESRCH when there is no text. */
int parse_statm(struct scan text, struct statm *ret);
