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
#include <sys/stat.h>
#include <time.h>

/* ==== Runs ==================================================================================== */

void listed_run_done(struct listed_run *r)
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

double run_exit(const struct listed_run *r)
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
    json_put_array(j, key);
    for (; *words; words++)
        json_string(j, *words);
    json_array_end(j);
}

bool list_is_known(double value, enum toll_quality quality)
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
    /* Of a run that has the record for itself: what it would grow to. */
    double hours = (double)end->elapsed_ns / NS_PER_SECOND / 3600;
    bool is_alone = r->record_bytes && !r->has_siblings;
    list_json_number(j, "record_bytes", r->record_bytes ? (double)r->record_bytes : (double)NAN,
                     TOLL_QUALITY_EXACT, 0);
    list_json_number(j, "record_bytes_per_hour",
                     is_alone && hours > 0 ? (double)r->record_bytes / hours : (double)NAN,
                     TOLL_QUALITY_EXACT, 0);
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
    list_json_known(j, "launch", r->launch);
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

/* ==== Records ================================================================================= */

enum { EXIT_SOME_UNREADABLE = 1 };

/* Runs before the place where a record is damaged are listed all the same. A file in a directory
 * that is not a record at all is a warning: another program may have put it there. */
static int list_read_record(struct list *l, const char *path, const char *shown, bool is_named)
{
    struct toll_error e = {0};
    size_t first = l->count;
    l->path = path;
    l->shown = shown;
    l->in_record = 0;
    int r = toll_record_runs(path, list_add_run, l, &e);
    struct stat st;
    bool is_file = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    for (size_t i = first; i < l->count; i++) {
        l->runs[i].has_siblings = l->in_record > 1;
        l->runs[i].record_bytes = is_file ? (uint64_t)st.st_size : 0;
    }
    if (r == 0)
        return 0;
    complain("list: %s", e.message);
    bool is_foreign = !l->in_record && (r == -EBADMSG || r == -EINVAL);
    return is_named ? EXIT_TOLL : is_foreign ? 0 : EXIT_SOME_UNREADABLE;
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

/* All records in a directory, not those in directories below it. */
static int list_read_directory(struct list *l, const char *path, bool is_only)
{
    CLEANUP_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char **names = NULL;
    int status = 0, r = dir < 0 ? -errno : file_list_records(dir, &names);
    if (r < 0)
        return complain("list: cannot read directory '%s': %s", path, strerror(-r));
    for (char **name = names; name && *name; name++) {
        struct buf whole = {0};
        file_put_path(&whole, path, *name);
        if (buf_failed(&whole))
            l->has_no_memory = true;
        else if (list_read_record(l, whole.data, is_only ? *name : whole.data, false))
            status = EXIT_SOME_UNREADABLE;
        buf_done(&whole);
        free(*name);
    }
    if (!names)
        list_report_no_records(path);
    free(names);
    return status;
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
                                              : list_read_record(&l, *path, *path, true);
        failed = failed == EXIT_TOLL || !status ? failed : status;
    }
    list_drop_copies(&l);
    if (!s->json && !s->list.each_rank)
        l.has_no_memory |= !list_merge_ranks(&l);
    if (l.count)
        qsort(l.runs, l.count, sizeof *l.runs, list_compare);
    size_t count = s->list.limit && s->list.limit < l.count ? s->list.limit : l.count;
    if (l.has_no_memory)
        failed = complain("list: out of memory, some runs are not listed");
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
    return failed == EXIT_TOLL || !status ? failed : status;
}

int list_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, SIZE_MAX, list_records);
}
