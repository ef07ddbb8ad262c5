/* SPDX-License-Identifier: MIT */
#include "subtrack/combine.h"

#include "base/err.h"
#include "subtrack/block_log.h"
#include "subtrack/row_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int copy_rows(struct block_log *to, const char *path, struct toll_error *e)
{
    struct block_rows *rows;
    int r = block_rows_open(&rows, path, e);
    if (r < 0)
        return r;
    struct block_stamp s;
    while (r >= 0 && (r = block_rows_next(rows, &s, e)) > 0)
        r = block_log_put(to, &s, e);
    block_rows_close(rows);
    return r;
}

/* Not over a file that came meanwhile, where the filesystem can tell. */
static int put_in_place(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == EINVAL || errno == ENOSYS ? rename(from, to) : -1;
}

int combine_blocks(const char *destination, const char *const *files, struct toll_error *e)
{
    enum row_format format, other;
    struct stat there;
    int r = row_format_of(destination, &format, e);
    if (r < 0)
        return r;
    if (lstat(destination, &there) == 0)
        return err_set(e, -EEXIST, "Cannot create sub-tracking file %s. File already exists.",
                       destination);
    for (const char *const *file = files; *file; file++)
        if (row_format_of(*file, &other, NULL) < 0 || other != format)
            return err_set(e, -EINVAL,
                           "File %s does not end with the same extension as %s. Must end in "
                           "\"%s\".",
                           *file, destination, format == ROWS_CSV ? ".csv" : ".sqlite");
    struct buf beside = {0};
    buf_printf(&beside, "%s.%d.tmp", destination, (int)getpid());
    if (buf_failed(&beside))
        return err_set(e, -ENOMEM, "%s: no memory", destination);
    struct block_log *log = NULL;
    r = block_log_open(&log, beside.data, format, e);
    for (const char *const *file = files; *file && r == 0; file++)
        r = copy_rows(log, *file, e);
    if (r == 0)
        r = block_log_flush(log, e);
    block_log_close(log);
    if (r == 0 && put_in_place(beside.data, destination) < 0)
        r = err_set(e, -errno, "%s: %s", destination, strerror(errno));
    unlink(beside.data);
    buf_done(&beside);
    return r;
}
