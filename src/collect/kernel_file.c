/* SPDX-License-Identifier: MIT
 *
 * The kernel hands some files out in pieces of a page, so a reading ends when nothing more comes. A
 * piece that fills not even half a page was the last: it ends early only where the next line would
 * not fit, and no line of these files is that long. That spares half of the calls. The room for the
 * text grows until it fits and then stays. */
#include "collect/kernel_file.h"

#include "base/util.h"

#include <fcntl.h>
#include <sys/types.h>

enum { LEAST_BYTES = 4096, MOST_BYTES = 16 << 20, LAST_PIECE_BYTES = 2048 };

static int grow(struct kernel_file *f)
{
    size_t capacity = f->capacity ? 2 * f->capacity : LEAST_BYTES;
    if (capacity > MOST_BYTES)
        return -EFBIG;
    char *text = realloc(f->text, capacity);
    if (!text)
        return -ENOMEM;
    f->text = text;
    f->capacity = capacity;
    return 0;
}

static ssize_t read_whole(struct kernel_file *f, int fd)
{
    size_t length = 0;
    for (;;) {
        int e = length == f->capacity ? grow(f) : 0;
        if (e < 0)
            return e;
        size_t room = f->capacity - length;
        ssize_t n = pread(fd, f->text + length, room, (off_t)length);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n >= 0) {
            length += (size_t)n;
            if (n == 0 || ((size_t)n < room && n < LAST_PIECE_BYTES))
                return (ssize_t)length;
        }
    }
}

int kernel_file_read(struct kernel_file *f, int dir, const char *path, bool keep,
                     struct scan *ret_text)
{
    CLEANUP_CLOSE int fd = take_fd(&f->fd);
    if (fd < 0)
        fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read_whole(f, fd);
    if (n < 0)
        return (int)n;
    if (keep)
        f->fd = take_fd(&fd);
    *ret_text = scan_text(f->text, (size_t)n);
    return 0;
}

void kernel_file_done(struct kernel_file *f)
{
    close_p(&f->fd);
    free(f->text);
    *f = KERNEL_FILE_NONE;
}
