/* SPDX-License-Identifier: MIT
 * A file line by line, whatever its size: what is held in memory is a block and the longest line.
 */
#pragma once

#include "base/buf.h"

struct line_reader {
    int fd;           /* borrowed */
    struct buf block; /* what was read and not handed out, from `at` on */
    size_t at;
    size_t longest;  /* that is taken */
    uint64_t number; /* of the line that was handed out last, from 1 */
    bool at_end;
};

void line_reader_init(struct line_reader *l, int fd, size_t longest);
void line_reader_done(struct line_reader *l);

/* The next line without its newline, good until the next call. 1; 0 at the end; -EMSGSIZE when it
 * is too long, or the -errno of reading. *ret_is_whole is false for a last one without newline. */
int line_reader_next(struct line_reader *l, const char **ret, size_t *ret_length,
                     bool *ret_is_whole);
