/* SPDX-License-Identifier: MIT
 * Files of /sys with one number or one line in them. */
#pragma once

#include "base/sysroot.h"
#include "base/util.h"

struct number_file {
    char path[128]; /* below /sys */
    int fd;         /* kept between ticks of a live machine; -1 */
};

/* The path is made of a folder and a name in it. 0, or -ENAMETOOLONG. */
int number_file_init(struct number_file *f, const char *folder, const char *name);
void number_file_done(struct number_file *f);

/* 0; -EBADMSG when it is no number, or what the kernel or the driver answered. */
int number_file_read(struct number_file *f, const struct sysroot *root, int64_t *ret);

/* The one line of a file, without blanks at its ends, cut to the capacity. 0; -ENODATA when it is
 * empty, -EBADMSG when there are control characters in it, or -errno. */
int number_file_read_word(const struct sysroot *root, const char *folder, const char *name,
                          char *ret, size_t capacity);
