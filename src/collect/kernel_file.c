/* SPDX-License-Identifier: MIT */
#include "collect/kernel_file.h"

#include "base/file.h"

#include <fcntl.h>

enum { LONGEST_LINE = 2048 }; /* of those that a file is read in pieces by */

int kernel_file_read(struct kernel_file *f, int dir, const char *path, bool keep,
                     struct scan *ret_text)
{
    CLEANUP_CLOSE int fd = take_fd(&f->fd);
    if (fd < 0)
        fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = file_reread_whole(fd, LONGEST_LINE, &f->text);
    if (r < 0)
        return r;
    if (keep)
        f->fd = take_fd(&fd);
    *ret_text = scan_text(f->text.data, f->text.length);
    return 0;
}

void kernel_file_done(struct kernel_file *f)
{
    close_p(&f->fd);
    buf_done(&f->text);
    *f = KERNEL_FILE_NONE;
}
