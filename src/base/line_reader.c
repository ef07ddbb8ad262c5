/* SPDX-License-Identifier: MIT */
#include "base/line_reader.h"

enum { BLOCK = 256 * 1024 };

void line_reader_init(struct line_reader *l, int fd, size_t longest)
{
    *l = (struct line_reader){.fd = fd, .longest = longest};
}

void line_reader_done(struct line_reader *l)
{
    buf_done(&l->block);
}

/* Moves what is left to the front and reads behind it. 1, 0 at the end of the file, or -errno. */
static int read_more(struct line_reader *l)
{
    struct buf *b = &l->block;
    size_t left = b->length - l->at, room;
    if (l->at) {
        memmove(b->data, b->data + l->at, left);
        b->length = left;
        l->at = 0;
    }
    char *to = buf_room(b, BLOCK, &room);
    if (!to)
        return -ENOMEM;
    ssize_t n;
    do
        n = read(l->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    b->length += (size_t)n;
    return n > 0;
}

int line_reader_next(struct line_reader *l, const char **ret, size_t *ret_length,
                     bool *ret_is_whole)
{
    size_t seen = 0; /* bytes of the line in which there is no newline */
    const char *newline = NULL;
    for (;;) {
        size_t left = l->block.length - l->at;
        if (left > seen)
            newline = memchr(l->block.data + l->at + seen, '\n', left - seen);
        seen = newline ? (size_t)(newline - l->block.data) - l->at : left;
        if (seen > l->longest)
            return -EMSGSIZE;
        if (newline || l->at_end)
            break;
        int r = read_more(l);
        if (r < 0)
            return r;
        l->at_end = r == 0;
    }
    if (!newline && !seen)
        return 0;
    *ret = l->block.data + l->at;
    *ret_length = seen;
    *ret_is_whole = newline != NULL;
    l->at += seen + (newline != NULL);
    l->number++;
    return 1;
}
