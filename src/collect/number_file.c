/* SPDX-License-Identifier: MIT */
#include "collect/number_file.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>

static int join(char path[128], const char *folder, const char *name)
{
    return snprintf(path, 128, "%s/%s", folder, name) < 128 ? 0 : -ENAMETOOLONG;
}

int number_file_init(struct number_file *f, const char *folder, const char *name)
{
    f->fd = -1;
    return join(f->path, folder, name);
}

void number_file_done(struct number_file *f)
{
    close_p(&f->fd);
}

int number_file_read(struct number_file *f, const struct sysroot *root, int64_t *ret)
{
    char text[64];
    CLEANUP_CLOSE int fd = f->fd < 0 ? openat(root->sys, f->path, O_RDONLY | O_CLOEXEC)
                                     : take_fd(&f->fd);
    if (fd < 0)
        return -errno;
    ssize_t n = file_reread(fd, text, sizeof text);
    if (n < 0) /* opened anew next time: the device may have been taken away and put back */
        return (int)n;
    if (root->live)
        f->fd = take_fd(&fd);
    struct scan s = scan_text(text, (size_t)n);
    int64_t value;
    if (!scan_i64(&s, &value) || !scan_word(&s, "\n") || !scan_done(&s))
        return -EBADMSG;
    *ret = value;
    return 0;
}

int number_file_read_word(const struct sysroot *root, const char *folder, const char *name,
                          char *ret, size_t capacity)
{
    char path[128], text[256];
    if (join(path, folder, name) < 0)
        return -ENAMETOOLONG;
    ssize_t n = file_read_at(root->sys, path, text, sizeof text);
    if (n < 0)
        return (int)n;
    struct scan s = scan_text(text, (size_t)n), line;
    if (!scan_line(&s, &line))
        return -ENODATA;
    scan_blanks(&line);
    while (!scan_done(&line) && (line.end[-1] == ' ' || line.end[-1] == '\t'))
        line.end--;
    size_t length = min_u64((uint64_t)(line.end - line.at), capacity - 1);
    if (!length)
        return -ENODATA;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line.at[i] < ' ' || line.at[i] == 127)
            return -EBADMSG;
    memcpy(ret, line.at, length);
    ret[length] = '\0';
    return 0;
}
