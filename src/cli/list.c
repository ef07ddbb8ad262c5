/* SPDX-License-Identifier: MIT
 * toll list: the runs of records and of directories with records, as a table or as JSON. */
#include "base/clock.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "base/text/scan.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ==== Runs ==================================================================================== */

/* A run as the table and JSON need it. Strings are owned. */
struct listed_run {
    const struct settings *settings; /* borrowed: how runs are sorted */
    char *path;                      /* of its record */
    char *shown;  /* the record as the table shows it: without the directory that was named */
    size_t order; /* in which runs were found */
    char *id, *name, *host, *version;
    char *job_id, *array_index, *rank, *local_rank, *world_size, *launch; /* "": unknown */
    char **command, **attached_to, **labels;                              /* NULL-terminated */
    struct toll_end end;
    struct toll_summary used;
    uint64_t number, start_ns, samples;
    bool cut_short, may_be_running;
    bool has_siblings; /* its record has several runs */
};

struct list {
    const struct settings *settings;
    struct listed_run *runs; /* owned */
    size_t count, capacity;
    size_t seen;        /* runs that were read, whether or not they match */
    size_t records;     /* that had at least one */
    const char *path;   /* of the record that is read */
    const char *shown;  /* … in the table */
    uint64_t in_record; /* runs of it so far */
    bool has_no_memory;
};

static void listed_run_done(struct listed_run *r)
{
    char **lists[] = {r->command, r->attached_to, r->labels};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (char **word = lists[i]; word && *word; word++)
            free(*word);
        free(lists[i]);
    }
    free(r->path);
    free(r->shown);
    free(r->id);
    free(r->name);
    free(r->host);
    free(r->version);
    free(r->job_id);
    free(r->array_index);
    free(r->rank);
    free(r->local_rank);
    free(r->world_size);
    free(r->launch);
}

static char **list_copy_words(const char *const *words, bool *failed)
{
    size_t count = 0;
    while (words[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    *failed |= !copy;
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = strdup(words[i]))) {
            *failed = true;
            break;
        }
    return copy;
}

static char *list_copy_text(const char *text, bool *failed)
{
    char *copy = strdup(text);
    *failed |= !copy;
    return copy;
}

/* "team" is any value of that key, "team=blue" that one. */
static bool run_has_label(const struct toll_run *r, const char *wanted)
{
    size_t length = strlen(wanted);
    bool has_value = strchr(wanted, '=');
    for (const char *const *label = r->labels; *label; label++)
        if (strncmp(*label, wanted, length) == 0 && (*label)[length] == (has_value ? '\0' : '='))
            return true;
    return false;
}

static bool run_matches(const struct settings *s, const struct toll_run *r)
{
    for (const char **label = s->labels; label && *label; label++)
        if (!run_has_label(r, *label))
            return false;
    if (s->list.name && fnmatch(s->list.name, r->name, 0) != 0)
        return false;
    return r->start_ns >= s->list.since_ns;
}

/* Called back for each run of a record. */
static void list_add_run(void *arg, const struct toll_run *r)
{
    struct list *l = arg;
    l->seen++;
    l->records += l->in_record++ == 0;
    if (!run_matches(l->settings, r))
        return;
    if (!ARRAY_RESERVE(l->runs, l->capacity, l->count + 1)) {
        l->has_no_memory = true;
        return;
    }
    bool failed = false;
    struct listed_run *copy = &l->runs[l->count];
    *copy = (struct listed_run){
        .settings = l->settings,
        .path = list_copy_text(l->path, &failed),
        .shown = list_copy_text(l->shown, &failed),
        .order = l->count,
        .id = list_copy_text(r->id, &failed),
        .name = list_copy_text(r->name, &failed),
        .host = list_copy_text(r->host, &failed),
        .version = list_copy_text(r->version, &failed),
        .job_id = list_copy_text(r->job_id, &failed),
        .array_index = list_copy_text(r->array_index, &failed),
        .rank = list_copy_text(r->rank, &failed),
        .local_rank = list_copy_text(r->local_rank, &failed),
        .world_size = list_copy_text(r->world_size, &failed),
        .launch = list_copy_text(r->launch, &failed),
        .command = list_copy_words(r->command, &failed),
        .attached_to = list_copy_words(r->attached_to, &failed),
        .labels = list_copy_words(r->labels, &failed),
        .end = *r->end,
        .used = *r->summary,
        .number = r->number,
        .start_ns = r->start_ns,
        .samples = r->samples,
        .cut_short = r->cut_short,
        .may_be_running = r->may_be_running,
    };
    if (failed)
        listed_run_done(copy);
    else
        l->count++;
    l->has_no_memory |= failed;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* The exit status as in a shell; unknown: NAN. */
static double run_exit(const struct listed_run *r)
{
    if (!r->end.ended || r->end.unknown)
        return (double)NAN;
    return r->end.signaled ? 128 + r->end.status : r->end.status;
}

/* What runs are sorted by, as a number. */
static double run_sort_number(const struct listed_run *r, enum list_sort by)
{
    switch (by) {
    case LIST_BY_TIME: return (double)r->start_ns;
    case LIST_BY_DURATION: return (double)r->end.elapsed_ns;
    case LIST_BY_CPU: return r->used.cpu_seconds;
    case LIST_BY_MEMORY: return r->used.memory_peak_bytes;
    case LIST_BY_EXIT: return run_exit(r);
    case LIST_BY_NAME: break;
    }
    return 0;
}

/* Unknown comes last in either direction; equal ones stay in the order of their records. */
static int list_compare(const void *left, const void *right)
{
    const struct listed_run *a = left, *b = right;
    const struct settings *s = a->settings;
    int order;
    if (s->list.sort == LIST_BY_NAME) {
        order = strcmp(a->name, b->name);
    } else {
        double x = run_sort_number(a, s->list.sort), y = run_sort_number(b, s->list.sort);
        if (isnan(x) || isnan(y))
            return isnan(x) && isnan(y) ? (a->order > b->order) - (a->order < b->order)
                                        : (isnan(x) ? 1 : -1);
        order = (x > y) - (x < y);
    }
    if (order == 0)
        return (a->order > b->order) - (a->order < b->order);
    bool is_sorted = option_is_given(s, "sort");
    bool is_descending = is_sorted ? s->list.is_descending : true;
    return is_descending != s->list.is_reversed ? -order : order;
}

/* ==== For programs ============================================================================ */

static void list_json_words(struct json_out *j, const char *key, char *const *words)
{
    json_key(j, key);
    json_array(j);
    for (; *words; words++)
        json_string(j, *words);
    json_array_end(j);
}

/* A lower bound of zero says nothing. */
static bool list_is_known(double value, enum toll_quality quality)
{
    return !isnan(value) && quality != TOLL_QUALITY_UNKNOWN &&
           (quality != TOLL_QUALITY_LOWER_BOUND || value > 0);
}

static void list_json_number(struct json_out *j, const char *key, double value,
                             enum toll_quality quality, unsigned decimals)
{
    json_key(j, key);
    if (!list_is_known(value, quality))
        json_null(j);
    else
        json_double(j, value, decimals);
}

static void list_json_integer(struct json_out *j, const char *key, bool is_known, int value)
{
    json_key(j, key);
    if (is_known)
        json_i64(j, value);
    else
        json_null(j);
}

/* "" is unknown. */
static void list_json_known(struct json_out *j, const char *key, const char *text)
{
    json_key(j, key);
    if (*text)
        json_string(j, text);
    else
        json_null(j);
}

static void list_json_run(struct json_out *j, const struct listed_run *r)
{
    const struct toll_end *end = &r->end;
    bool is_running = !end->ended && !end->unknown;
    bool has_exited = end->ended && !end->unknown && !end->signaled;
    json_object(j);
    json_put_string(j, "record", r->path);
    json_put_u64(j, "run", r->number);
    list_json_known(j, "id", r->id);
    json_put_utc(j, "start", r->start_ns);
    json_put_seconds(j, "wall_seconds", end->elapsed_ns);
    json_put_u64(j, "samples", r->samples);
    json_put_string(j, "status",
                    is_running      ? "running"
                    : end->unknown  ? "unknown"
                    : end->signaled ? "signaled"
                                    : "exited");
    list_json_integer(j, "code", has_exited, end->status);
    list_json_integer(j, "signal", end->signaled, end->status);
    json_put_bool(j, "oom_killed", end->oom_killed);
    json_put_bool(j, "timed_out", end->timed_out);
    json_put_bool(j, "cut_short", r->cut_short);
    list_json_number(j, "cpu_seconds", r->used.cpu_seconds, r->used.cpu_quality, 9);
    json_put_string(j, "cpu_quality", toll_quality_word(r->used.cpu_quality));
    list_json_number(j, "memory_peak_bytes", r->used.memory_peak_bytes, r->used.memory_quality, 0);
    json_put_string(j, "memory_quality", toll_quality_word(r->used.memory_quality));
    json_put_string(j, "name", r->name);
    list_json_words(j, "command", r->command);
    list_json_words(j, "attached_to", r->attached_to);
    list_json_words(j, "labels", r->labels);
    list_json_known(j, "job_id", r->job_id);
    list_json_known(j, "array_index", r->array_index);
    list_json_known(j, "rank", r->rank);
    list_json_known(j, "local_rank", r->local_rank);
    list_json_known(j, "world_size", r->world_size);
    json_put_string(j, "host", r->host);
    json_put_string(j, "toll", r->version);
    json_object_end(j);
}

static void list_as_json(const struct list *l, size_t count, struct buf *b)
{
    struct json_out j;
    json_begin(&j, b, 2);
    json_array(&j);
    for (size_t i = 0; i < count; i++)
        list_json_run(&j, &l->runs[i]);
    json_array_end(&j);
    buf_putc(b, '\n');
}

/* ==== For people ============================================================================== */

enum column {
    COLUMN_RUN,
    COLUMN_ID,
    COLUMN_TIME,
    COLUMN_NAME,
    COLUMN_LABELS,
    COLUMN_DURATION,
    COLUMN_EXIT,
    COLUMN_CPU,
    COLUMN_MEMORY,
    COLUMN_RECORD,
    COLUMNS,
};

static const struct {
    const char *heading;
    bool is_right;        /* aligned */
    bool cuts_start;      /* the end of a path says more than its beginning */
    unsigned comfortable; /* columns that a shortened cell keeps as long as it can */
    unsigned least;       /* … and in any case; 0: never shortened */
} column_kinds[COLUMNS] = {
    [COLUMN_RUN] = {"RUN", true, false, 0, 0},
    [COLUMN_ID] = {"ID", false, false, 0, 0},
    [COLUMN_TIME] = {"TIME", false, false, 0, 0},
    [COLUMN_NAME] = {"NAME", false, false, 7, 5},
    [COLUMN_LABELS] = {"LABELS", false, false, 8, 6},
    [COLUMN_DURATION] = {"DURATION", true, false, 0, 0},
    [COLUMN_EXIT] = {"EXIT", false, false, 0, 0},
    [COLUMN_CPU] = {"CPU", true, false, 0, 0},
    [COLUMN_MEMORY] = {"MEMORY", true, false, 0, 0},
    [COLUMN_RECORD] = {"RECORD", false, true, 16, 12},
};

/* How a time is written: "2026-11-18 02:00:18", "Nov 18 02:00", "Nov 18" or "02:00". */
enum time_form { TIME_LONG, TIME_SHORT, TIME_SHORTEST };

enum { GAP = 2, UNLIMITED = 1 << 20, NAME_IN_PIPE = 60 };

struct table {
    const struct list *list;
    size_t rows;
    char *(*cells)[COLUMNS]; /* owned, as the strings are */
    bool shown[COLUMNS];
    size_t widths[COLUMNS];
    size_t width; /* of the terminal */
    bool ascii, color;
    bool has_no_memory;
    size_t id_digits;
    uint64_t now_ns;
};

/* ---- Cells ----------------------------------------------------------------------------------- */

/* "exit 0", "SIGKILL", "running"; "running?" where it cannot be seen from here. */
static void list_put_exit(struct buf *b, const struct listed_run *r)
{
    const struct toll_end *end = &r->end;
    const char *signal = end->signaled ? signal_name(end->status) : NULL;
    if (end->unknown && !end->ended)
        buf_puts(b, r->may_be_running ? "running?" : "cut off");
    else if (!end->ended && r->cut_short)
        buf_puts(b, "running");
    else if (!end->ended)
        buf_puts(b, *r->attached_to ? "left running" : "-");
    else if (end->unknown)
        buf_puts(b, "unknown");
    else if (end->oom_killed)
        buf_puts(b, "OOM kill");
    else if (end->timed_out)
        buf_puts(b, "timed out");
    else if (signal)
        buf_printf(b, "SIG%s", signal);
    else
        buf_printf(b, "%s %d", end->signaled ? "signal" : "exit", end->status);
}

static void list_put_figure(const struct table *t, struct buf *b, double value,
                            enum toll_quality quality, void (*put)(struct buf *b, double value))
{
    if (!list_is_known(value, quality)) {
        buf_putc(b, '?');
        return;
    }
    if (quality == TOLL_QUALITY_LOWER_BOUND)
        buf_puts(b, t->ascii ? ">=" : "≥");
    put(b, value);
}

/* In local time; short as ls -l has it, shortest as ps has it. */
static void list_put_time(struct buf *b, uint64_t start_ns, uint64_t now_ns, enum time_form form)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const uint64_t half_a_year = UINT64_C(182) * 86400 * NS_PER_SECOND;
    time_t seconds = (time_t)(start_ns / NS_PER_SECOND), today = (time_t)(now_ns / NS_PER_SECOND);
    struct tm tm, now;
    if (!start_ns || !localtime_r(&seconds, &tm) || !localtime_r(&today, &now)) {
        buf_putc(b, '?');
        return;
    }
    bool is_recent = start_ns <= now_ns + NS_PER_SECOND && now_ns < start_ns + half_a_year;
    bool is_today = tm.tm_yday == now.tm_yday && tm.tm_year == now.tm_year;
    const char *month = months + (ptrdiff_t)3 * (tm.tm_mon % 12);
    if (form == TIME_LONG)
        buf_printf(b, "%d-%02d-%02d %02d:%02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
                   tm.tm_hour, tm.tm_min, tm.tm_sec);
    else if (form == TIME_SHORTEST && is_today)
        buf_printf(b, "%02d:%02d", tm.tm_hour, tm.tm_min);
    else if (form == TIME_SHORTEST && is_recent)
        buf_printf(b, "%.3s %2d", month, tm.tm_mday);
    else if (form == TIME_SHORTEST)
        buf_printf(b, "%d", tm.tm_year + 1900);
    else if (is_recent)
        buf_printf(b, "%.3s %2d %02d:%02d", month, tm.tm_mday, tm.tm_hour, tm.tm_min);
    else
        buf_printf(b, "%.3s %2d  %d", month, tm.tm_mday, tm.tm_year + 1900);
}

/* The name that was given, or else the command, or what was attached to. */
static void list_put_name(struct buf *b, const struct listed_run *r)
{
    const char *program = *r->command ? strrchr(*r->command, '/') : NULL;
    program = program ? program + 1 : *r->command ? *r->command : "";
    bool is_named = *r->name && strcmp(r->name, program) != 0;
    if (is_named)
        buf_puts(b, r->name);
    for (char **word = r->command; *word && !is_named; word++)
        buf_printf(b, "%s%s", word == r->command ? "" : " ", word == r->command ? program : *word);
    for (char **target = r->attached_to; *target; target++)
        buf_printf(b, "%s%s", target > r->attached_to ? ", " : b->length ? ": " : "", *target);
    if (!b->length)
        buf_puts(b, r->host);
}

static char *list_cell(const struct table *t, const struct listed_run *r, enum column c,
                       enum time_form form)
{
    struct buf b = {0};
    switch (c) {
    case COLUMN_RUN: buf_u64(&b, r->number); break;
    case COLUMN_ID: {
        size_t length = strlen(r->id);
        buf_puts(&b, length ? r->id + (length > t->id_digits ? length - t->id_digits : 0) : "-");
        break;
    }
    case COLUMN_TIME: list_put_time(&b, r->start_ns, t->now_ns, form); break;
    case COLUMN_NAME: list_put_name(&b, r); break;
    case COLUMN_LABELS:
        for (char **label = r->labels; *label; label++)
            buf_printf(&b, "%s%s", label == r->labels ? "" : " ", *label);
        break;
    case COLUMN_DURATION: buf_duration(&b, (double)r->end.elapsed_ns / 1e9); break;
    case COLUMN_EXIT: list_put_exit(&b, r); break;
    case COLUMN_CPU:
        list_put_figure(t, &b, r->used.cpu_seconds, r->used.cpu_quality, buf_duration);
        break;
    case COLUMN_MEMORY:
        list_put_figure(t, &b, r->used.memory_peak_bytes, r->used.memory_quality, buf_bytes);
        break;
    case COLUMN_RECORD:
        buf_puts(&b, r->shown);
        if (r->has_siblings)
            buf_printf(&b, ":%llu", (unsigned long long)r->number);
        break;
    case COLUMNS: break;
    }
    char *text = buf_take(&b);
    if (!text)
        return strdup("");
    text_make_printable(text); /* names, labels and paths are from elsewhere */
    return text;
}

/* ---- Ids ------------------------------------------------------------------------------------- */

static int list_compare_ids(const void *left, const void *right)
{
    const char *a = *(char *const *)left, *b = *(char *const *)right;
    size_t i = strlen(a), k = strlen(b);
    while (i && k && a[i - 1] == b[k - 1]) {
        i--;
        k--;
    }
    int x = i ? a[i - 1] : 0, y = k ? b[k - 1] : 0;
    return x - y;
}

/* As many digits at the end as distinguish all ids that differ. */
static size_t list_id_digits(const struct list *l)
{
    size_t digits = RUN_ID_DIGITS;
    const char **sorted = calloc(l->count + 1, sizeof *sorted);
    for (size_t i = 0; sorted && i < l->count; i++)
        sorted[i] = l->runs[i].id;
    if (sorted)
        qsort(sorted, l->count, sizeof *sorted, list_compare_ids);
    for (size_t i = 1; sorted && i < l->count; i++) {
        const char *a = sorted[i - 1], *b = sorted[i];
        size_t m = strlen(a), n = strlen(b), same = 0;
        while (same < m && same < n && a[m - 1 - same] == b[n - 1 - same])
            same++;
        if (same < m && same < n && same >= digits)
            digits = same + 1;
    }
    free(sorted);
    return digits;
}

/* ---- Widths ---------------------------------------------------------------------------------- */

static void table_measure_column(struct table *t, enum column c)
{
    size_t width = strlen(column_kinds[c].heading);
    for (size_t i = 0; i < t->rows; i++) {
        size_t cell = utf8_columns(t->cells[i][c], strlen(t->cells[i][c]));
        width = cell > width ? cell : width;
    }
    t->widths[c] = width;
}

static size_t table_width(const struct table *t)
{
    size_t width = 0;
    for (unsigned c = 0; c < COLUMNS; c++)
        if (t->shown[c])
            width += t->widths[c] + (width ? GAP : 0);
    return width;
}

/* Takes columns from the widest cells that may be shortened, until all fits. False when it does
 * not.
 */
static bool table_shrink(struct table *t, bool is_comfortable)
{
    for (size_t width = table_width(t); width > t->width; width--) {
        unsigned widest = COLUMNS;
        for (unsigned c = 0; c < COLUMNS; c++) {
            unsigned least = is_comfortable ? column_kinds[c].comfortable : column_kinds[c].least;
            if (t->shown[c] && least && t->widths[c] > least &&
                (widest == COLUMNS || t->widths[c] > t->widths[widest]))
                widest = c;
        }
        if (widest == COLUMNS)
            return false;
        t->widths[widest]--;
    }
    return true;
}

static void table_set_times(struct table *t, enum time_form form)
{
    for (size_t i = 0; i < t->rows; i++) {
        free(t->cells[i][COLUMN_TIME]);
        t->cells[i][COLUMN_TIME] = list_cell(t, &t->list->runs[i], COLUMN_TIME, form);
        if (!t->cells[i][COLUMN_TIME])
            t->has_no_memory = true;
    }
    for (unsigned c = 0; c < COLUMNS && !t->has_no_memory; c++)
        table_measure_column(t, c);
}

/* What does not fit: first the id goes, then times get short, then names, labels and records are
 * shortened, then times are the shortest. On a narrow terminal columns are left out, but not the
 * one that runs are sorted by, and at last lines are cut. */
static void table_fit(struct table *t)
{
    static const struct {
        enum column column;
        enum list_sort sort;
    } dispensable[] = {
        {COLUMN_LABELS, LIST_BY_TIME},
        {COLUMN_CPU, LIST_BY_CPU},
        {COLUMN_DURATION, LIST_BY_DURATION},
        {COLUMN_MEMORY, LIST_BY_MEMORY},
    };
    const struct settings *s = t->list->settings;
    if (t->width == UNLIMITED && t->widths[COLUMN_NAME] > NAME_IN_PIPE)
        t->widths[COLUMN_NAME] = NAME_IN_PIPE; /* a command line may be a whole script */
    if (table_width(t) <= t->width)
        return;
    t->shown[COLUMN_ID] = false;
    if (table_width(t) > t->width)
        table_set_times(t, TIME_SHORT);
    if (t->has_no_memory || table_shrink(t, true))
        return;
    table_set_times(t, TIME_SHORTEST);
    if (t->has_no_memory || table_shrink(t, true))
        return;
    for (size_t i = 0; i < ARRAY_LEN(dispensable); i++) {
        if (dispensable[i].column != COLUMN_LABELS && dispensable[i].sort == s->list.sort)
            continue;
        t->shown[dispensable[i].column] = false;
        for (unsigned c = 0; c < COLUMNS; c++)
            table_measure_column(t, c); /* there is more room now */
        if (table_shrink(t, true) || (i && table_shrink(t, false)))
            return;
    }
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* A cell of its width: what is too long is shortened where it tells least. */
static void table_put_cell(const struct table *t, struct buf *b, enum column c, const char *text)
{
    const char *dots = t->ascii ? ".." : "…";
    size_t length = strlen(text), width = t->widths[c], start = b->length;
    size_t room = width - utf8_columns(dots, strlen(dots));
    if (utf8_columns(text, length) <= width) {
        buf_add(b, text, length);
    } else if (column_kinds[c].cuts_start) {
        buf_puts(b, dots);
        while (utf8_columns(text, length) > room) {
            size_t one = utf8_length((const unsigned char *)text, length);
            text += one ? one : 1;
            length = strlen(text);
        }
        buf_add(b, text, length);
    } else {
        buf_add(b, text, utf8_fitting(text, length, room));
        buf_puts(b, dots);
    }
    if (column_kinds[c].is_right)
        buf_pad_left(b, start, (unsigned)width);
    else
        buf_pad(b, start, (unsigned)width);
}

/* row NULL: the headings. */
static void table_put_line(const struct table *t, struct buf *out, char *const *row, bool is_bad)
{
    struct buf line = {0};
    for (unsigned c = 0; c < COLUMNS; c++) {
        if (!t->shown[c])
            continue;
        if (line.length)
            buf_puts(&line, "  ");
        table_put_cell(t, &line, c, row ? row[c] : column_kinds[c].heading);
    }
    while (line.length && line.data[line.length - 1] == ' ')
        line.length--;
    if (!buf_failed(&line)) {
        const char *color = !t->color ? "" : !row ? "\033[1m" : is_bad ? "\033[31m" : "";
        buf_puts(out, color);
        buf_add(out, line.data, utf8_fitting(line.data, line.length, t->width));
        buf_puts(out, *color ? "\033[0m" : "");
    }
    buf_putc(out, '\n');
    out->failed |= line.failed;
    buf_done(&line);
}

/* A pipe has no width: only long names are shortened there, unless COLUMNS is set. */
static void table_describe_terminal(struct table *t)
{
    struct toll_output out = {.fd = STDOUT_FILENO};
    const char *columns = getenv("COLUMNS");
    struct scan text = scan_string(columns ? columns : "");
    uint64_t width;
    terminal_describe(&out, COLOR_AUTO);
    t->ascii = out.flags & TOLL_OUTPUT_ASCII;
    t->color = out.flags & TOLL_OUTPUT_COLOR;
    t->width = out.columns ? out.columns : UNLIMITED;
    if (!out.columns && columns && scan_u64(&text, &width) && scan_done(&text) && width >= 20 &&
        width < UNLIMITED)
        t->width = width;
}

static void list_as_table(const struct list *l, size_t count, struct buf *b)
{
    struct table t = {
        .list = l, .rows = count, .id_digits = list_id_digits(l), .now_ns = clock_real(NULL)};
    table_describe_terminal(&t);
    t.cells = calloc(count + 1, sizeof *t.cells);
    if (!t.cells) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        t.shown[COLUMN_LABELS] |= l->runs[i].labels[0] != NULL;
        for (unsigned c = 0; c < COLUMNS; c++)
            if (!(t.cells[i][c] = list_cell(&t, &l->runs[i], c, TIME_LONG)))
                b->failed = true;
    }
    for (unsigned c = 0; c < COLUMNS && !b->failed; c++) {
        t.shown[c] |= c != COLUMN_LABELS;
        table_measure_column(&t, c);
    }
    /* Of several records each run has its number after the name of its record. */
    bool is_one_file = l->settings->words && !l->settings->words[1] &&
                       !file_is_directory(l->settings->words[0]);
    t.shown[COLUMN_RECORD] = !is_one_file;
    t.shown[COLUMN_RUN] = is_one_file;
    if (!b->failed) {
        table_fit(&t);
        b->failed |= t.has_no_memory;
    }
    if (!b->failed)
        table_put_line(&t, b, NULL, false);
    for (size_t i = 0; i < count && !b->failed; i++) {
        double status = run_exit(&l->runs[i]);
        table_put_line(&t, b, t.cells[i], !isnan(status) && status > 0);
    }
    for (size_t i = 0; i < count; i++)
        for (unsigned c = 0; c < COLUMNS; c++)
            free(t.cells[i][c]);
    free(t.cells);
}

/* ==== Records ================================================================================= */

/* Runs before the place where a record is damaged are listed all the same. */
static int list_read_record(struct list *l, const char *path, const char *shown)
{
    struct toll_error e = {0};
    size_t first = l->count;
    l->path = path;
    l->shown = shown;
    l->in_record = 0;
    int r = toll_record_runs(path, list_add_run, l, &e);
    for (size_t i = first; i < l->count; i++)
        l->runs[i].has_siblings = l->in_record > 1;
    return r < 0 ? complain("list: %s", e.message) : 0;
}

struct subdirectory_search {
    int fd;
    unsigned left; /* entries that may still be examined */
    char *first;   /* owned; the name of the first directory in order that has records, or NULL */
};

static void list_visit_subdirectory(void *arg, const char *name)
{
    struct subdirectory_search *search = arg;
    if (!search->left || (search->first && strcmp(name, search->first) > 0))
        return;
    search->left--;
    CLEANUP_CLOSE int dir = openat(search->fd, name,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char **names = NULL;
    if (dir < 0 || file_list_records(dir, &names) < 0 || !names)
        return;
    free(search->first);
    search->first = strdup(name);
    for (char **record = names; *record; record++)
        free(*record);
    free(names);
}

/* Where the records may be that were expected in a directory. */
static void list_report_no_records(const char *path)
{
    enum { MOST_ENTRIES = 1000 };
    struct subdirectory_search search = {.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                         .left = MOST_ENTRIES};
    if (search.fd >= 0) {
        file_each_entry(search.fd, list_visit_subdirectory, &search);
        close(search.fd);
    }
    struct buf below = {0}, word = {0};
    if (search.first) {
        file_put_path(&below, path, search.first);
        add_shell_word(&word, below.data ? below.data : "");
    }
    if (word.data)
        complain("list: no records in '%s'; a directory below it has some: toll list %s", path,
                 word.data);
    else
        complain("list: no records in '%s' (expected *.jsonl, *.sqlite or *.db)", path);
    buf_done(&below);
    buf_done(&word);
    free(search.first);
}

/* All records in a directory, not those in directories below it. One that cannot be read is a
 * warning: another program may have put it there. */
static int list_read_directory(struct list *l, const char *path, bool is_only)
{
    CLEANUP_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char **names = NULL;
    int r = dir < 0 ? -errno : file_list_records(dir, &names);
    if (r < 0)
        return complain("list: cannot read directory '%s': %s", path, strerror(-r));
    for (char **name = names; name && *name; name++) {
        struct buf whole = {0};
        file_put_path(&whole, path, *name);
        if (buf_failed(&whole))
            l->has_no_memory = true;
        else
            list_read_record(l, whole.data, is_only ? *name : whole.data);
        buf_done(&whole);
        free(*name);
    }
    if (!names)
        list_report_no_records(path);
    free(names);
    return 0;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* Copies of a run side by side: the whole ones first, then in the order they were found. */
static int list_compare_copies(const void *left, const void *right)
{
    const struct listed_run *a = *(struct listed_run *const *)left;
    const struct listed_run *b = *(struct listed_run *const *)right;
    int order = strcmp(a->id, b->id);
    if (order == 0)
        order = a->cut_short - b->cut_short;
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* A run that was saved to two files is listed once. Within a record each has its number and stays.
 */
static void list_drop_copies(struct list *l)
{
    struct listed_run **sorted = calloc(l->count + 1, sizeof *sorted);
    bool *is_copy = calloc(l->count + 1, sizeof *is_copy);
    size_t kept = 0;
    for (size_t i = 0; sorted && i < l->count; i++)
        sorted[i] = &l->runs[i];
    if (sorted && is_copy && l->count) {
        qsort(sorted, l->count, sizeof *sorted, list_compare_copies);
        struct listed_run *first = sorted[0];
        for (size_t i = 1; i < l->count; i++) {
            if (!*first->id || strcmp(first->id, sorted[i]->id) != 0)
                first = sorted[i];
            else if (strcmp(first->path, sorted[i]->path) != 0)
                is_copy[sorted[i] - l->runs] = true;
        }
        for (size_t i = 0; i < l->count; i++)
            if (is_copy[i])
                listed_run_done(&l->runs[i]);
            else
                l->runs[kept++] = l->runs[i];
        l->count = kept;
    }
    l->has_no_memory |= !sorted || !is_copy;
    free(sorted);
    free(is_copy);
}

static int list_records(struct settings *s)
{
    static const char *here[] = {".", NULL};
    struct list l = {.settings = s};
    struct buf b = {0};
    const char **paths = s->words ? s->words : here;
    int failed = 0;
    for (const char **path = paths; *path; path++) {
        int status = file_is_directory(*path) ? list_read_directory(&l, *path, !paths[1])
                                              : list_read_record(&l, *path, *path);
        failed = status ? status : failed;
    }
    list_drop_copies(&l);
    if (l.count)
        qsort(l.runs, l.count, sizeof *l.runs, list_compare);
    size_t count = s->list.limit && s->list.limit < l.count ? s->list.limit : l.count;
    if (l.has_no_memory)
        failed = complain("list: not enough memory to list all runs");
    if (s->json && (l.count || !failed || paths[1]))
        list_as_json(&l, count, &b);
    else if (count && !s->json)
        list_as_table(&l, count, &b);
    else if (l.seen && !s->json)
        complain("list: none of %zu run%s in %zu record%s matches", l.seen, l.seen == 1 ? "" : "s",
                 l.records, l.records == 1 ? "" : "s");
    for (size_t i = 0; i < l.count; i++)
        listed_run_done(&l.runs[i]);
    free(l.runs);
    int status = s->json ? print(&b) : print_paged(&b);
    return failed ? failed : status;
}

int list_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, SIZE_MAX, list_records);
}
