/* SPDX-License-Identifier: MIT */
#include "subtrack/block_rows.h"

#include "base/err.h"
#include "parse/csv_record.h"
#include "subtrack/row_file.h"

#include <math.h>
#include <string.h>
#include <strings.h>

const char *const block_columns[BLOCK_COLUMNS] = {"process_id", "code_block_name", "position",
                                                  "timestamp"};

struct block_rows {
    struct row_file *file;
    size_t at[BLOCK_COLUMNS];
    uint64_t count;
    char path[256]; /* for sentences */
};

int block_rows_open(struct block_rows **ret, const char *path, struct toll_error *e)
{
    struct block_rows *b = calloc(1, sizeof *b);
    if (!b)
        return err_set(e, -ENOMEM, "%s: no memory", path);
    strncpy(b->path, path, sizeof b->path - 1);
    int r = row_file_open(&b->file, path, e);
    if (r == 0)
        r = row_file_table(b->file, "data", e);
    for (int i = 0; i < BLOCK_COLUMNS && r >= 0; i++) {
        r = row_file_column(b->file, block_columns[i], e);
        b->at[i] = (size_t)r;
    }
    if (r < 0) {
        block_rows_close(b);
        return r;
    }
    *ret = b;
    return 0;
}

void block_rows_close(struct block_rows *b)
{
    if (b)
        row_file_close(b->file);
    free(b);
}

static int read_position(const struct block_rows *b, bool *ret, struct toll_error *e)
{
    const char *text = row_file_text(b->file, b->at[BLOCK_POSITION]);
    if (strcmp(text, "0") == 0 || strcasecmp(text, "START") == 0)
        *ret = false;
    else if (strcmp(text, "1") == 0 || strcasecmp(text, "STOP") == 0)
        *ret = true;
    else
        return err_set(e, -EBADMSG,
                       "%s: row %llu: the position '%.40s' is neither 0 (START) nor 1 (STOP)",
                       b->path, (unsigned long long)b->count, text);
    return 0;
}

int block_rows_next(struct block_rows *b, struct block_stamp *ret, struct toll_error *e)
{
    double pid;
    int r = row_file_next(b->file, e);
    if (r <= 0)
        return r;
    *ret = (struct block_stamp){.number = ++b->count};
    r = row_file_number(b->file, b->at[BLOCK_PID], &pid, e);
    if (r == 0)
        r = row_file_number(b->file, b->at[BLOCK_TIME], &ret->time, e);
    if (r == 0)
        r = read_position(b, &ret->is_stop, e);
    if (r == 0 && (isnan(ret->time) || !(fabs(pid) < 0x1p62) || pid != (double)(int64_t)pid))
        r = err_set(e, -EBADMSG, "%s: row %llu has no process_id or no timestamp", b->path,
                    (unsigned long long)b->count);
    if (r < 0)
        return r;
    ret->pid = (int64_t)pid;
    ret->name = row_file_text(b->file, b->at[BLOCK_NAME]);
    if (row_file_format(b->file) == ROWS_CSV)
        ret->name = csv_record_plain(ret->name);
    return 1;
}
