/* SPDX-License-Identifier: MIT */
#include "subtrack/combine.h"

#include "base/err.h"
#include "base/file.h"
#include "subtrack/block_log.h"
#include "subtrack/row_file.h"

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
    struct held_signals held;
    struct block_log *log = NULL;
    file_signals_hold(&held);
    r = block_log_open(&log, destination, format, e);
    for (const char *const *file = files; *file && r == 0; file++)
        r = copy_rows(log, *file, e);
    if (r == 0)
        r = block_log_commit(log, e);
    block_log_close(log);
    file_signals_release(&held);
    return r;
}
