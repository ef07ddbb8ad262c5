/* SPDX-License-Identifier: MIT */
#include "base/err.h"
#include "base/io/file.h"
#include "base/text/buf.h"
#include "base/text/encoding.h"
#include "base/text/json.h"
#include "layout/gpu_tracker/gpu_tracker.h"
#include "layout/layout.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>

/* ==== Analysis text =========================================================================== */

static struct buf *analysis_new_cells(size_t count)
{
    return calloc(count + 1, sizeof(struct buf));
}

static void analysis_text_write_frame(struct buf *b, struct text_frame *f, unsigned tabs)
{
    size_t count = f->rows * f->columns;
    for (size_t i = 0; f->cells && i < count; i++)
        b->failed |= buf_failed(&f->cells[i]);
    if (f->cells)
        text_frame_write(b, f, tabs);
    else
        b->failed = true;
    for (size_t i = 0; f->cells && i < count; i++)
        buf_done(&f->cells[i]);
    free(f->cells);
}

static void analysis_write_usage(struct buf *b, const struct analysis *a, const struct usage *u,
                                 unsigned tabs)
{
    struct text_frame f = {
        .rows = a->figure_count,
        .columns = STATISTICS,
        .row_names = (const char *const *)a->figures,
        .column_names = statistic_names,
        .cells = analysis_new_cells(a->figure_count * STATISTICS),
    };
    for (size_t i = 0; f.cells && i < f.rows * f.columns; i++)
        text_number(&f.cells[i], u[i / STATISTICS].of[i % STATISTICS]);
    analysis_text_write_frame(b, &f, tabs);
}

static void analysis_write_facts(struct buf *b, const struct analysis *a)
{
    const char **names = calloc(a->fact_count + 1, sizeof *names);
    struct text_frame f = {
        .rows = 1,
        .columns = a->fact_count,
        .column_names = names,
        .cells = names ? analysis_new_cells(a->fact_count) : NULL,
        .is_text = true,
    };
    for (size_t i = 0; f.cells && i < a->fact_count; i++) {
        const struct session_fact *fact = &a->facts[i];
        names[i] = fact->name;
        if (fact->is_number && !fact->is_integer)
            text_number(&f.cells[i], fact->number);
        else
            buf_printf(&f.cells[i], " %s", fact->text);
    }
    analysis_text_write_frame(b, &f, 1);
    free(names);
}

static void analysis_write_times(struct buf *b, const struct block_results *r)
{
    const char *names[STATISTICS + 1];
    memcpy(names, statistic_names, sizeof statistic_names);
    names[STATISTICS] = "total";
    struct text_frame f = {
        .rows = 1,
        .columns = STATISTICS + 1,
        .column_names = names,
        .cells = analysis_new_cells(STATISTICS + 1),
    };
    for (unsigned i = 0; f.cells && i < f.columns; i++)
        text_number(&f.cells[i], i < STATISTICS ? r->compute_time.of[i] : r->total_time);
    analysis_text_write_frame(b, &f, 2);
}

static void analysis_write_block(struct buf *b, const struct analysis *a,
                                 const struct block_results *r)
{
    buf_puts(b, "\tName:                ");
    buf_printable(b, r->name, strlen(r->name));
    buf_putc(b, '\n');
    buf_printf(b, "\tNum Timepoints:      %llu\n", (unsigned long long)r->timepoints);
    buf_printf(b, "\tNum Calls:           %llu\n", (unsigned long long)r->calls);
    buf_printf(b, "\tNum Non Empty Calls: %llu\n", (unsigned long long)r->non_empty_calls);
    text_title(b, "compute_time", 1);
    analysis_write_times(b, r);
    text_title(b, "resource_usage", 1);
    analysis_write_usage(b, a, r->usage, 2);
    buf_putc(b, '\n');
}

void analysis_write_text(struct buf *b, const struct analysis *a)
{
    text_title(b, "overall", 0);
    analysis_write_usage(b, a, a->overall, 1);
    text_title(b, "static_data", 0);
    analysis_write_facts(b, a);
    text_title(b, "code_block_results", 0);
    for (size_t i = 0; i < a->block_count; i++)
        analysis_write_block(b, a, &a->blocks[i]);
}

/* ==== Analysis json =========================================================================== */

/* ---- Writing --------------------------------------------------------------------------------- */

static void analysis_json_put_float(struct json_out *j, const char *key, double value)
{
    json_key(j, key);
    struct buf text = {0};
    python_float(&text, value);
    json_raw(j, text.data, text.length);
    j->buf->failed |= buf_failed(&text);
    buf_done(&text);
}

static void analysis_put_statistics(struct json_out *j, const struct usage *u)
{
    for (unsigned i = 0; i < STATISTICS; i++)
        if (u->is_integer[i])
            json_put_i64(j, statistic_names[i], (int64_t)u->of[i]);
        else
            analysis_json_put_float(j, statistic_names[i], u->of[i]);
}

static void analysis_json_put_usage(struct json_out *j, const struct analysis *a, const char *key,
                                    const struct usage *u)
{
    json_put_object(j, key);
    for (size_t i = 0; i < a->figure_count; i++) {
        json_put_object(j, a->figures[i]);
        analysis_put_statistics(j, &u[i]);
        json_object_end(j);
    }
    json_object_end(j);
}

static void analysis_put_facts(struct json_out *j, const struct analysis *a)
{
    json_put_object(j, "static_data");
    for (size_t i = 0; i < a->fact_count; i++) {
        const struct session_fact *fact = &a->facts[i];
        if (!fact->is_number)
            json_put_string(j, fact->name, fact->text);
        else if (fact->is_integer)
            json_put_i64(j, fact->name, (int64_t)fact->number);
        else
            analysis_json_put_float(j, fact->name, fact->number);
    }
    json_object_end(j);
}

static void analysis_put_block(struct json_out *j, const struct analysis *a,
                               const struct block_results *r)
{
    json_object(j);
    json_put_string(j, "name", r->name);
    json_put_u64(j, "num_timepoints", r->timepoints);
    json_put_u64(j, "num_calls", r->calls);
    json_put_u64(j, "num_non_empty_calls", r->non_empty_calls);
    json_put_object(j, "compute_time");
    analysis_put_statistics(j, &r->compute_time);
    analysis_json_put_float(j, "total", r->total_time);
    json_object_end(j);
    analysis_json_put_usage(j, a, "resource_usage", r->usage);
    json_object_end(j);
}

void analysis_write_json(struct buf *b, const struct analysis *a)
{
    struct json_out j;
    json_begin(&j, b, 1);
    json_object(&j);
    analysis_json_put_usage(&j, a, "overall", a->overall);
    analysis_put_facts(&j, a);
    json_put_array(&j, "code_block_results");
    for (size_t i = 0; i < a->block_count; i++)
        analysis_put_block(&j, a, &a->blocks[i]);
    json_array_end(&j);
    json_object_end(&j);
}

/* ---- Reading --------------------------------------------------------------------------------- */

enum { AT_MOST = 4096 }; /* figures, facts, blocks */

/* Larger ones than a double holds exactly are not. */
static bool analysis_is_written_whole(struct scan text, double number)
{
    for (const char *c = text.at; c < text.end; c++)
        if (*c == '.' || *c == 'e' || *c == 'E')
            return false;
    return number >= -0x1p53 && number <= 0x1p53;
}

/* ret_is_integer may be NULL. */
static double analysis_json_read_float(struct json_in *j, bool *ret_is_integer)
{
    struct decimal n;
    json_in_next(j); /* blanks do not count */
    struct scan text = {j->text.at, NULL};
    double value = NAN;
    if (!json_in_null(j) && (!json_in_number(j, &n) || !decimal_double(&n, &value)))
        json_in_fail(j);
    text.end = j->text.at;
    if (ret_is_integer)
        *ret_is_integer = !isnan(value) && analysis_is_written_whole(text, value);
    return value;
}

static uint64_t analysis_json_read_count(struct json_in *j)
{
    struct decimal n;
    uint64_t value = 0;
    if (!json_in_number(j, &n) || !decimal_u64(&n, 0, &value))
        json_in_fail(j);
    return value;
}

static void analysis_read_statistics(struct json_in *j, struct usage *ret, double *ret_total)
{
    struct scan key;
    for (unsigned i = 0; i < STATISTICS; i++)
        ret->of[i] = NAN;
    if (!json_in_object(j))
        return;
    while (json_in_key(j, &key)) {
        int which = -1;
        for (int i = 0; i < STATISTICS; i++)
            if (json_in_is(&key, statistic_names[i]))
                which = i;
        if (which >= 0)
            ret->of[which] = analysis_json_read_float(j, &ret->is_integer[which]);
        else if (ret_total && json_in_is(&key, "total"))
            *ret_total = analysis_json_read_float(j, NULL);
        else
            json_in_skip(j);
    }
}

/* The names of the figures come with the first usage that is read; all others have the same. */
static int analysis_figure_number(struct analysis *a, struct scan key, bool may_add)
{
    for (size_t i = 0; i < a->figure_count; i++)
        if (json_in_is(&key, a->figures[i]))
            return (int)i;
    if (!may_add || a->figure_count == AT_MOST)
        return -ENOENT;
    a->figures[a->figure_count] = scan_copy(key);
    return a->figures[a->figure_count] ? (int)a->figure_count++ : -ENOMEM;
}

static void analysis_read_usage(struct json_in *j, struct analysis *a, struct usage *ret,
                                bool may_add)
{
    struct scan key;
    if (!ret || !json_in_object(j)) {
        json_in_fail(j);
        return;
    }
    size_t seen = 0;
    for (; json_in_key(j, &key); seen++) {
        int at = analysis_figure_number(a, key, may_add);
        if (at < 0)
            json_in_fail(j);
        else
            analysis_read_statistics(j, &ret[at], NULL);
    }
    if (seen != a->figure_count)
        json_in_fail(j);
}

static void analysis_json_read_facts(struct json_in *j, struct analysis *a)
{
    struct scan key, text;
    if (!json_in_object(j))
        return;
    while (json_in_key(j, &key)) {
        if (a->fact_count == AT_MOST || !(a->facts[a->fact_count].name = scan_copy(key))) {
            json_in_fail(j);
            return;
        }
        struct session_fact *fact = &a->facts[a->fact_count++];
        enum json_kind kind = json_in_next(j);
        const char *start = j->text.at;
        if (kind == JSON_STRING) {
            json_in_string(j, &text);
        } else {
            fact->is_number = kind == JSON_NUMBER;
            fact->number = analysis_json_read_float(j, NULL);
            text = scan_text(start, (size_t)(j->text.at - start));
        }
        fact->text = j->failed ? NULL : scan_copy(text);
        fact->is_integer = fact->is_number && fact->text &&
                           session_fact_is_integer(fact->text, fact->number);
        if (!fact->text)
            json_in_fail(j);
    }
}

static void analysis_read_block(struct json_in *j, struct analysis *a)
{
    struct scan key, text;
    if (a->block_count == AT_MOST || !json_in_object(j)) {
        json_in_fail(j);
        return;
    }
    struct block_results *r = &a->blocks[a->block_count++];
    r->total_time = NAN;
    while (json_in_key(j, &key)) {
        if (json_in_is(&key, "name") && !r->name && json_in_string(j, &text))
            r->name = scan_copy(text);
        else if (json_in_is(&key, "num_timepoints"))
            r->timepoints = analysis_json_read_count(j);
        else if (json_in_is(&key, "num_calls"))
            r->calls = analysis_json_read_count(j);
        else if (json_in_is(&key, "num_non_empty_calls"))
            r->non_empty_calls = analysis_json_read_count(j);
        else if (json_in_is(&key, "compute_time"))
            analysis_read_statistics(j, &r->compute_time, &r->total_time);
        else if (json_in_is(&key, "resource_usage") && !r->usage)
            analysis_read_usage(j, a, r->usage = calloc(AT_MOST, sizeof *r->usage), false);
        else
            json_in_skip(j);
    }
    if (!r->name || !r->usage)
        json_in_fail(j);
}

static void analysis_json_read_all(struct json_in *j, struct analysis *a)
{
    struct scan key;
    bool has_overall = false;
    if (!json_in_object(j))
        return;
    while (json_in_key(j, &key)) {
        if (json_in_is(&key, "overall") && !has_overall) {
            analysis_read_usage(j, a, a->overall, true);
            has_overall = true;
        } else if (json_in_is(&key, "static_data")) {
            analysis_json_read_facts(j, a);
        } else if (json_in_is(&key, "code_block_results")) {
            if (json_in_array(j))
                while (json_in_item(j))
                    analysis_read_block(j, a);
        } else {
            json_in_skip(j);
        }
    }
    if (!has_overall)
        json_in_fail(j);
}

/* A pickle has the same in it: of gpu_tracker's classes, of ours, or of dictionaries. */
static int analysis_json_unpickle(struct buf *text, const char *path, struct toll_error *e)
{
    if (!text->data || !pickle_is_one(text->data, text->length))
        return 0;
    struct buf json = {0};
    int r = pickle_to_json(&json, text->data, text->length, e);
    if (r < 0) {
        buf_done(&json);
        return err_wrap(e, r, "%s", path);
    }
    buf_done(text);
    *text = json;
    return 0;
}

int analysis_read_json(struct analysis *ret, const char *path, struct toll_error *e)
{
    struct buf text = {0};
    struct json_in j = {0};
    *ret = (struct analysis){
        .figures = calloc(AT_MOST, sizeof *ret->figures),
        .overall = calloc(AT_MOST, sizeof *ret->overall),
        .facts = calloc(AT_MOST, sizeof *ret->facts),
        .blocks = calloc(AT_MOST, sizeof *ret->blocks),
    };
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : file_reread_whole(fd, FILE_ANY_LINE, &text);
    if (r < 0)
        err_set(e, r, "%s: %s", path, strerror(-r));
    else if (!ret->figures || !ret->overall || !ret->facts || !ret->blocks)
        r = err_set(e, -ENOMEM, "%s: out of memory", path);
    if (r == 0)
        r = analysis_json_unpickle(&text, path, e);
    if (r == 0) {
        json_in_begin(&j, text.data ? text.data : "", text.length);
        analysis_json_read_all(&j, ret);
        if (!json_in_end(&j))
            r = err_set(e, -EBADMSG, "%s: not the results of an analysis (expected json or pickle)",
                        path);
    }
    json_in_done(&j);
    buf_done(&text);
    if (r < 0)
        analysis_done(ret);
    return r;
}
