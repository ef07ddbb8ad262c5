/* SPDX-License-Identifier: MIT
 * A file of the kernel that is read whole at every tick, however long it is. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"

struct kernel_file {
    int fd;          /* kept open between readings, or -1 */
    struct buf text; /* what was read last */
};

#define KERNEL_FILE_NONE ((struct kernel_file){.fd = -1})

/* Reads path below the directory. keep: through a descriptor that stays open, which is right on the
 * running machine and wrong in a recorded one. The text is valid until the next reading.
 * 0 or -errno. */
int kernel_file_read(struct kernel_file *f, int dir, const char *path, bool keep,
                     struct scan *ret_text);
void kernel_file_done(struct kernel_file *f);
