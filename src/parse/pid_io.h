/* SPDX-License-Identifier: MIT
 * /proc/PID/io and /proc/PID/task/TID/io: bytes through calls and to storage. */
#pragma once

#include "base/scan.h"

struct pid_io {
    uint64_t read_bytes;    /* rchar: through calls */
    uint64_t written_bytes; /* wchar */
    uint64_t read_calls;
    uint64_t write_calls;
    uint64_t storage_read_bytes;
    uint64_t storage_written_bytes;
    uint64_t storage_cancelled_bytes;
};

/* 0, -EBADMSG when a line is missing or not as expected, -ESRCH when there is no text. */
int parse_pid_io(struct scan text, struct pid_io *ret);
