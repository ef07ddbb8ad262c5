/* SPDX-License-Identifier: MIT
 * The table of toll list: columns that fit into the terminal. */
#include "base/clock.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/rank.h"
#include "base/text/scan.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ==== Jobs ==================================================================================== */

/* The ranks of a parallel job as one line of toll list. */

/* Whether it failed, or its record lacks the end. */
static bool listed_rank_is_bad(const struct listed_run *r)
{
    double status = run_exit(r);
    return (!isnan(status) && status > 0) || (r->end.unknown && !r->end.ended);
}

/* What is known of a part only is a lower bound of the whole. */
static enum toll_quality listed_quality(enum toll_quality a, enum toll_quality b)
{
    bool is_partly = a == TOLL_QUALITY_UNKNOWN || b == TOLL_QUALITY_UNKNOWN ||
                     a == TOLL_QUALITY_LOWER_BOUND || b == TOLL_QUALITY_LOWER_BOUND;
    if (a == b)
        return a;
    return is_partly                                                ? TOLL_QUALITY_LOWER_BOUND
           : a == TOLL_QUALITY_SAMPLED || b == TOLL_QUALITY_SAMPLED ? TOLL_QUALITY_SAMPLED
                                                                    : (a > b ? a : b);
}

/* Adds a rank of the same job to the first one of it. */
static void listed_job_add(struct listed_run *job, struct listed_run *rank)
{
    struct toll_summary *sum = &job->used;
    const struct toll_summary *more = &rank->used;
    bool has_cpu = list_is_known(sum->cpu_seconds, sum->cpu_quality);
    bool adds_cpu = list_is_known(more->cpu_seconds, more->cpu_quality);
    bool has_memory = list_is_known(sum->memory_peak_bytes, sum->memory_quality);
    bool adds_memory = list_is_known(more->memory_peak_bytes, more->memory_quality);
    sum->cpu_seconds = (has_cpu ? sum->cpu_seconds : 0) + (adds_cpu ? more->cpu_seconds : 0);
    sum->cpu_quality = listed_quality(sum->cpu_quality, more->cpu_quality);
    if (adds_memory && (!has_memory || more->memory_peak_bytes > sum->memory_peak_bytes))
        sum->memory_peak_bytes = more->memory_peak_bytes;
    sum->memory_quality = listed_quality(sum->memory_quality, more->memory_quality);
    uint64_t longest = job->end.elapsed_ns > rank->end.elapsed_ns ? job->end.elapsed_ns
                                                                  : rank->end.elapsed_ns;
    if (listed_rank_is_bad(rank) && job->bad_ranks++ == 0) {
        char *name = job->rank;
        job->rank = rank->rank; /* the table names the first that failed */
        rank->rank = name;
        job->end = rank->end;
        job->cut_short = rank->cut_short;
        job->may_be_running = rank->may_be_running;
    }
    job->end.elapsed_ns = longest;
    job->start_ns = rank->start_ns < job->start_ns ? rank->start_ns : job->start_ns;
    job->samples += rank->samples;
    job->records += strcmp(job->path, rank->path) != 0;
    job->ranks++;
}

static int listed_compare_places(const void *left, const void *right)
{
    const struct rank_run *a = *(const struct rank_run *const *)left;
    const struct rank_run *b = *(const struct rank_run *const *)right;
    if (a->number != b->number)
        return (a->number > b->number) - (a->number < b->number);
    size_t x = strlen(a->rank), y = strlen(b->rank);
    return x != y ? (x > y) - (x < y) : strcmp(a->rank, b->rank);
}

bool list_merge_ranks(struct list *l)
{
    struct rank_run *places = calloc(l->count + 1, sizeof *places);
    const struct rank_run **sorted = calloc(l->count + 1, sizeof *sorted);
    bool *is_merged = calloc(l->count + 1, sizeof *is_merged);
    for (size_t i = 0; places && sorted && i < l->count; i++) {
        const struct listed_run *r = &l->runs[i];
        places[i] = (struct rank_run){
            .rank = r->rank,
            .launch = r->launch,
            .job_id = r->job_id,
            .array_index = r->array_index,
            .world_size = r->world_size,
            .name = r->name,
            .start_ns = r->start_ns,
            .end_ns = r->start_ns + r->end.elapsed_ns,
        };
        sorted[i] = &places[i];
    }
    bool ok = places && sorted && is_merged && rank_group(places, l->count) == 0;
    if (ok && l->count)
        qsort(sorted, l->count, sizeof *sorted, listed_compare_places);
    for (size_t i = 0, first = 0; ok && i < l->count; i++) {
        struct listed_run *job = &l->runs[sorted[first] - places];
        struct listed_run *rank = &l->runs[sorted[i] - places];
        if (sorted[i]->number != sorted[first]->number || i == first) {
            first = i;
            continue;
        }
        if (!job->ranks) {
            job->ranks = job->records = 1;
            job->bad_ranks = listed_rank_is_bad(job);
        }
        listed_job_add(job, rank);
        is_merged[rank - l->runs] = true;
    }
    size_t kept = 0;
    for (size_t i = 0; ok && i < l->count; i++) {
        struct listed_run *r = &l->runs[i];
        struct scan text = scan_string(r->world_size);
        uint64_t all;
        if (r->ranks && scan_u64(&text, &all) && all > r->ranks) /* ranks are missing */
            r->used.cpu_quality = listed_quality(r->used.cpu_quality, TOLL_QUALITY_UNKNOWN);
        if (is_merged[i])
            listed_run_done(r);
        else
            l->runs[kept++] = *r;
    }
    l->count = ok ? kept : l->count;
    free(places);
    free(sorted);
    free(is_merged);
    return ok;
}

enum column {
    COLUMN_RUN,
    COLUMN_ID,
    COLUMN_TIME,
    COLUMN_NAME,
    COLUMN_RANKS,
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
    [COLUMN_RANKS] = {"RANKS", true, false, 0, 0},
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
    if (r->bad_ranks == 1)
        buf_printf(b, "rank %s: ", r->rank);
    else if (r->bad_ranks)
        buf_printf(b, "%zu ranks: ", r->bad_ranks);
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

/* "4", or "3 of 4" where records of others are not here; of a rank alone, which. */
static void list_put_ranks(struct buf *b, const struct listed_run *r)
{
    struct scan text = scan_string(r->world_size);
    uint64_t all;
    bool is_known = scan_u64(&text, &all) && scan_done(&text);
    if (r->ranks)
        buf_printf(b, "%zu", r->ranks);
    else if (*r->rank)
        buf_printf(b, "rank %s", r->rank);
    if (is_known && *r->rank && r->ranks != all)
        buf_printf(b, " of %s", r->world_size);
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
    case COLUMN_RANKS: list_put_ranks(&b, r); break;
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
        buf_puts(&b, r->ranks ? "/rank" : "");
        break;
    case COLUMN_RECORD:
        buf_puts(&b, r->shown);
        if (r->records > 1)
            buf_printf(&b, " + %zu", r->records - 1);
        else if (r->has_siblings && !r->ranks)
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

/* How far cells may be shortened. */
enum table_room { ROOM_FOR_NAMES, ROOM_COMFORTABLE, ROOM_LEAST };

/* Takes columns from the widest cells that may be shortened, until all fits. False when it does
 * not.
 */
static bool table_shrink(struct table *t, enum table_room room)
{
    enum { ROOMY_NAME = 14 };
    for (size_t width = table_width(t); width > t->width; width--) {
        unsigned widest = COLUMNS;
        for (unsigned c = 0; c < COLUMNS; c++) {
            unsigned least = room == ROOM_LEAST ? column_kinds[c].least
                                                : column_kinds[c].comfortable;
            if (room == ROOM_FOR_NAMES && c == COLUMN_NAME)
                least = ROOMY_NAME;
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
 * shortened, but names only a little before times are the shortest. On a narrow terminal columns
 * are left out, but not the one that runs are sorted by, and at last lines are cut. */
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
    if (t->has_no_memory || table_shrink(t, ROOM_FOR_NAMES))
        return;
    table_set_times(t, TIME_SHORTEST);
    if (t->has_no_memory || table_shrink(t, ROOM_COMFORTABLE))
        return;
    for (size_t i = 0; i < ARRAY_LEN(dispensable); i++) {
        if (dispensable[i].column != COLUMN_LABELS && dispensable[i].sort == s->list.sort)
            continue;
        t->shown[dispensable[i].column] = false;
        for (unsigned c = 0; c < COLUMNS; c++)
            table_measure_column(t, c); /* there is more room now */
        if (table_shrink(t, ROOM_COMFORTABLE) || (i && table_shrink(t, ROOM_LEAST)))
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

void list_as_table(const struct list *l, size_t count, struct buf *b)
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
        t.shown[COLUMN_RANKS] |= l->runs[i].ranks ||
                                 (l->settings->list.each_rank && *l->runs[i].rank);
        for (unsigned c = 0; c < COLUMNS; c++)
            if (!(t.cells[i][c] = list_cell(&t, &l->runs[i], c, TIME_LONG)))
                b->failed = true;
    }
    for (unsigned c = 0; c < COLUMNS && !b->failed; c++) {
        t.shown[c] |= c != COLUMN_LABELS && c != COLUMN_RANKS;
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
        table_put_line(&t, b, t.cells[i], l->runs[i].bad_ranks || (!isnan(status) && status > 0));
    }
    for (size_t i = 0; i < count; i++)
        for (unsigned c = 0; c < COLUMNS; c++)
            free(t.cells[i][c]);
    free(t.cells);
}
