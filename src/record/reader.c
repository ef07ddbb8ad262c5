/* SPDX-License-Identifier: MIT */
#include "record/reader.h"

#include "base/err.h"
#include "base/io/file.h"
#include "record/keys.h"
#include "record/sqlite/sqlite.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

/* ==== No summary ============================================================================== */

/* The run went on after the last sample: totals and peaks are at least what the samples have. */
static void no_summary_judge_target(struct target_summary *t)
{
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            if (t->series[part][id].observed_ns) {
                t->provenance[part][id] = (struct provenance){QUALITY_LOWER_BOUND, "samples"};
                t->partial[part] |= t->denied[part] & BIT(id);
                t->has_parts |= part != PART_COMBINED;
            }
}

/* What there is or may be used, which the rest of a run seldom changes, is as good as ever. */
static bool no_summary_is_capacity(enum metric_id id)
{
    static const enum metric_id capacities[] = {
        cgroup_cpu_limit_cores,   cgroup_memory_limit_bytes, cgroup_tasks_limit_count,
        system_cpus_online_count, system_memory_total_bytes, system_memory_huge_total_bytes,
        system_swap_total_bytes,  disk_size_bytes,           mount_size_bytes,
        gpu_memory_total_bytes,   gpu_power_limit_watts,
    };
    for (size_t i = 0; i < ARRAY_LEN(capacities); i++)
        if (capacities[i] == id)
            return true;
    return false;
}

static const char *no_summary_reason(enum writer writer, bool is_sqlite)
{
    switch (writer) {
    case WRITER_THERE:
        return "the run is still being measured: figures are from its samples so far";
    case WRITER_UNKNOWN:
        return "the record has no end of the run, which may still be going on: figures are from "
               "its samples so far";
    case WRITER_GONE: break;
    }
    return is_sqlite ? "the record has no end of the run, and the toll that measured it has ended: "
                       "figures are from its samples"
                     : "the record ends before the run did: figures are from its samples, up to "
                       "the last whole line";
}

const char *no_summary_make(struct reading *r, enum writer writer, bool is_sqlite)
{
    struct summary *s = &r->summary;
    struct toll_end end = {.unknown = writer != WRITER_THERE};
    const char *sentence = no_summary_reason(writer, is_sqlite);
    summary_end(s, r->has_frame ? r->frame.elapsed_ns : 0);
    no_summary_judge_target(&s->whole);
    s->has_target = s->whole.series[PART_COMBINED][process_wall_seconds].observed_ns ||
                    r->run.command || r->run.target_count;
    for (size_t i = 0; i < s->target_count; i++) {
        no_summary_judge_target(&s->targets[i]);
        s->targets[i].end = end;
    }
    for (size_t n = 0; n < s->instance_count; n++) {
        enum entity_kind kind = s->instances[n].instance->entity.kind;
        for (unsigned i = 0; i < metric_count(kind); i++)
            if (!no_summary_is_capacity(metric_first(kind) + i))
                s->instances[n].series[i].coverage = COVERED_SO_FAR;
    }
    s->whole.end = end;
    summary_note(s, sentence);
    return sentence;
}

/* ==== Being written =========================================================================== */

enum writer being_written_lines(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return WRITER_GONE;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
        flock(fd, LOCK_UN);
        return WRITER_GONE;
    }
    return errno == EWOULDBLOCK ? WRITER_THERE : WRITER_GONE;
}

struct search {
    int dir; /* whose entries are looked at */
    struct stat wanted;
    bool found, denied;
};

static void being_written_compare(void *arg, const char *name)
{
    struct search *s = arg;
    struct stat st;
    if (fstatat(s->dir, name, &st, 0) == 0)
        s->found |= st.st_dev == s->wanted.st_dev && st.st_ino == s->wanted.st_ino;
    else
        s->denied |= errno == EACCES || errno == EPERM;
}

/* A thread may have descriptors of its own: the library's has. */
static void being_written_look_at_thread(void *arg, const char *name)
{
    struct search *threads = arg, files = *threads;
    char path[64];
    if (threads->found)
        return;
    snprintf(path, sizeof path, "%s/fd", name);
    CLEANUP_CLOSE int dir = openat(threads->dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    files.dir = dir;
    threads->denied |= dir < 0 && errno != ENOENT && errno != ESRCH;
    if (dir >= 0)
        file_each_entry(dir, being_written_compare, &files);
    threads->found |= files.found;
    threads->denied |= files.denied;
}

/* What others have open is for them and root to see; that SQLite holds a lock on the file as long
 * as it is open, for everybody. */
static bool being_written_is_locked(pid_t pid, const struct stat *st)
{
    struct buf locks = {0}, wanted = {0};
    buf_printf(&wanted, " %d %02x:%02x:%llu ", (int)pid, major(st->st_dev), minor(st->st_dev),
               (unsigned long long)st->st_ino);
    bool found = file_read_whole_at(AT_FDCWD, "/proc/locks", FILE_ANY_LINE, &locks) == 0 &&
                 !buf_failed(&wanted) && !buf_failed(&locks) && locks.length &&
                 memmem(locks.data, locks.length, wanted.data, wanted.length);
    buf_done(&locks);
    buf_done(&wanted);
    return found;
}

enum writer being_written_tables(const char *path, const struct run *run)
{
    char threads[64];
    struct search s = {0};
    struct utsname u;
    bool is_here = uname(&u) == 0 && strcmp(u.nodename, run->host) == 0;
    if (!run->own_pid || !is_here || stat(path, &s.wanted) < 0)
        return WRITER_UNKNOWN;
    snprintf(threads, sizeof threads, "/proc/%d/task", (int)run->own_pid);
    CLEANUP_CLOSE int dir = open(threads, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return errno == ENOENT ? WRITER_GONE : WRITER_UNKNOWN;
    s.dir = dir;
    bool is_known = file_each_entry(dir, being_written_look_at_thread, &s) == 0 && !s.denied;
    if (s.found || (!is_known && being_written_is_locked(run->own_pid, &s.wanted)))
        return WRITER_THERE;
    return is_known ? WRITER_GONE : WRITER_UNKNOWN;
}

/* ==== Record reader =========================================================================== */

enum { LONGEST_LINE = 256 << 20, SQLITE_HEADER = 100 };

struct record_reader {
    char *name;    /* owned */
    int own_fd;    /* -1: the caller's, or none */
    char *metrics; /* owned: only these are wanted; NULL: all */
    struct line_reader lines;
    struct sqlite_source *tables; /* owned; NULL: the record is a file of lines */
    const char *line;             /* the last one */
    size_t length;
    bool is_waiting; /* that line was not read yet */
    uint64_t runs;
    uint64_t run; /* the number of the one that is read */
    bool in_run;
    struct reading reading;
};

static void record_reader_forget_run(struct reading *r)
{
    summary_done(&r->summary);
    run_done(&r->run);
    free(r->instances.items);
    arena_done(&r->kept);
    arena_done(&r->line);
    instance_list_done(&r->machine);
    frame_done(&r->frame);
    free(r->processes);
    free(r->process_rows);
    buf_done(&r->attributes);
    json_in_done(&r->json);
}

int record_reader_new(struct record_reader **ret, int fd, const char *name, struct toll_error *e)
{
    struct record_reader *r = calloc(1, sizeof *r);
    if (!r || !(r->name = strdup(name))) {
        free(r);
        return err_set(e, -ENOMEM, "cannot read '%s': out of memory", name);
    }
    line_reader_init(&r->lines, fd, LONGEST_LINE);
    r->own_fd = -1;
    *ret = r;
    return 0;
}

/* "cannot read 'run.sqlite': …" for "run.sqlite: …", as for a file of lines. */
static int record_reader_name_tables(const char *path, int n, struct toll_error *e)
{
    size_t length = strlen(path);
    if (n >= 0 || !e || strncmp(e->message, path, length) != 0 || e->message[length] != ':')
        return n;
    struct toll_error why = *e;
    return err_set(e, n, "cannot read '%s'%s", path, why.message + length);
}

/* 1: it is, and open. SQLite is asked, and not the file read here: closing a descriptor of a
 * database would end all locks that this process has on it, also those of others in it. */
static int record_reader_open_tables(struct record_reader *r, const char *path,
                                     struct toll_error *e)
{
    struct stat st;
    struct toll_error why = {0};
    if (ends_with(path, ".jsonl") || stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size < SQLITE_HEADER)
        return 0;
    int n = sqlite_source_open(&r->tables, path, &why);
    if (n == -EOPNOTSUPP && !ends_with(path, ".sqlite"))
        return 0; /* without SQLite it can be nothing else */
    return n < 0 ? record_reader_name_tables(path, err_set(e, n, "%s", why.message), e) : n;
}

void record_reader_show(struct record_reader *r, bool secrets, bool arguments)
{
    r->reading.shows_secrets = secrets;
    r->reading.no_args = !arguments;
}

int record_reader_open(struct record_reader **ret, const char *path, struct toll_error *e)
{
    struct record_reader *r = NULL;
    int n = record_reader_new(&r, -1, path, e);
    if (n < 0)
        return n;
    n = record_reader_open_tables(r, path, e);
    if (n == 0) {
        r->own_fd = r->lines.fd = open(path, O_RDONLY | O_CLOEXEC);
        if (r->own_fd < 0)
            n = err_set(e, -errno, "cannot read '%s': %s", path, strerror(errno));
    }
    if (n < 0) {
        record_reader_free(r);
        return n;
    }
    *ret = r;
    return 0;
}

void record_reader_free(struct record_reader *r)
{
    if (!r)
        return;
    record_reader_forget_run(&r->reading);
    line_reader_done(&r->lines);
    sqlite_source_close(r->tables);
    close_p(&r->own_fd);
    free(r->name);
    free(r->metrics);
    free(r);
}

int record_reader_narrow(struct record_reader *r, const char *metrics)
{
    free(r->metrics);
    r->metrics = strdup(metrics);
    return r->metrics ? 0 : -ENOMEM;
}

const struct selection *record_reader_selection(const struct record_reader *r)
{
    return &r->reading.selection;
}

const char *record_reader_unknown(const struct record_reader *r)
{
    return r->reading.unknown;
}

/* ---- A file of lines ------------------------------------------------------------------------- */

static bool record_reader_is_json(struct record_reader *r)
{
    json_in_begin(&r->reading.json, r->line, r->length);
    json_in_skip(&r->reading.json);
    return json_in_end(&r->reading.json);
}

/* 1 and a line, 0 at the end, where half a line is left out. */
static int record_reader_next_line(struct record_reader *r, struct toll_error *e)
{
    bool is_whole, is_blank;
    int n;
    do {
        n = line_reader_next(&r->lines, &r->line, &r->length, &is_whole);
        if (n == -EMSGSIZE)
            return err_set(e, n,
                           "cannot read '%s': line %llu: longer than %d MiB (not a record of toll)",
                           r->name, (unsigned long long)r->lines.number + 1, LONGEST_LINE >> 20);
        if (n < 0)
            return err_set(e, n, "cannot read '%s': %s", r->name, strerror(-n));
        is_blank = true;
        for (size_t i = 0; n > 0 && i < r->length && is_blank; i++)
            is_blank = r->line[i] == ' ' || r->line[i] == '\t' || r->line[i] == '\r';
    } while (n > 0 && is_blank);
    return n > 0 && (is_whole || record_reader_is_json(r));
}

/* The value of "type", which is the first key when toll has written it. */
static bool record_reader_find_type(struct record_reader *r, enum record_line *ret,
                                    enum mark_kind *ret_kind)
{
    static const char *const types[] = {
        [LINE_RUN] = "run",
        [LINE_SAMPLE] = "sample",
        [LINE_PROCESS] = "process",
        [LINE_SUMMARY] = "summary",
    };
    struct json_in *j = &r->reading.json;
    struct scan key = {0}, word;
    json_in_begin(j, r->line, r->length);
    if (json_in_next(j) != JSON_OBJECT || !json_in_object(j))
        return false;
    while (json_in_key(j, &key) && !json_in_is(&key, "type"))
        json_in_skip(j);
    if (j->failed || !json_in_is(&key, "type") || !json_in_string(j, &word))
        return false;
    *ret = LINE_OTHER;
    for (unsigned i = 0; i < ARRAY_LEN(types); i++)
        if (types[i] && json_in_is(&word, types[i]))
            *ret = i;
    for (unsigned kind = 0; kind < MARK_KINDS; kind++)
        if (record_words_mark[kind] && json_in_is(&word, record_words_mark[kind])) {
            *ret_kind = kind;
            *ret = LINE_MARK;
        }
    if (*ret == LINE_OTHER)
        reading_note_unknown(&r->reading, &word);
    return true;
}

static bool record_reader_read_line(struct record_reader *r, enum record_line type,
                                    enum mark_kind kind)
{
    struct reading *d = &r->reading;
    json_in_begin(&d->json, r->line, r->length);
    switch (type) {
    case LINE_RUN: return read_run(d);
    case LINE_SAMPLE: read_sample_begin(d); return read_sample(d);
    case LINE_PROCESS: read_process_begin(d); return read_process(d);
    case LINE_MARK: read_mark_begin(d, kind); return read_mark(d);
    case LINE_SUMMARY: return read_summary(d);
    case LINE_OTHER: break;
    }
    return false;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static int record_reader_bad_line(struct record_reader *r, const char *word, struct toll_error *e)
{
    const struct reading *d = &r->reading;
    const char *wrong = d->json.has_name_twice ? "a duplicate key in an object" : d->wrong;
    char where[64];
    if (d->no_memory)
        return err_set(e, -ENOMEM, "cannot read '%s': out of memory", r->name);
    if (r->tables)
        snprintf(where, sizeof where, "run %llu", (unsigned long long)sqlite_source_run(r->tables));
    else
        snprintf(where, sizeof where, "line %llu", (unsigned long long)r->lines.number);
    if (d->schema[0])
        return err_set(e, -EBADMSG, "cannot read '%s': %s: unknown schema '%s' (expected %s)",
                       r->name, where, d->schema, RECORD_SCHEMA);
    if (wrong)
        return err_set(e, -EBADMSG, "cannot read '%s': %s: %s (expected %s)", r->name, where, wrong,
                       RECORD_SCHEMA);
    if (!r->runs && !r->tables)
        return err_set(
            e, -EBADMSG,
            "cannot read '%s': not a record of toll (its first line does not begin a run)",
            r->name);
    return err_set(e, -EBADMSG,
                   r->tables || record_reader_is_json(r)
                       ? "cannot read '%s': %s: invalid data (expected %s%s)"
                       : "cannot read '%s': %s: not JSON (expected %s%s)",
                   r->name, where, RECORD_SCHEMA, word);
}

/* Where the run itself had a choice, what both leave is listed by name. */
static bool reading_narrow_metrics(struct reading *r, const char *metrics)
{
    struct selection had, wanted;
    struct buf names = {0};
    if (selection_parse(&wanted, metrics, NULL) < 0)
        return false;
    if (!r->run.metrics || selection_parse(&had, r->run.metrics, NULL) < 0) {
        buf_puts(&names, metrics);
    } else {
        selection_narrow(&wanted, &had);
        selection_write(&names, &wanted);
    }
    free(r->run.metrics);
    r->run.metrics = names.data;
    r->no_memory |= buf_failed(&names) || !names.data;
    return true;
}

/* 1 and the type of what comes next, from either source; 0 at the end. */
static int record_reader_peek(struct record_reader *r, enum record_line *ret,
                              enum mark_kind *ret_kind, struct toll_error *e)
{
    if (r->tables)
        return record_reader_name_tables(
            r->name, sqlite_source_next(r->tables, &r->reading.run, ret, ret_kind, e), e);
    int n = r->is_waiting ? 1 : record_reader_next_line(r, e);
    r->is_waiting = n > 0;
    if (n > 0 && !record_reader_find_type(r, ret, ret_kind))
        return record_reader_bad_line(r, "", e);
    return n;
}

/* What was read as an item. */
static void record_reader_item(struct record_reader *r, enum record_line type,
                               struct record_item *ret)
{
    struct reading *d = &r->reading;
    switch (type) {
    case LINE_RUN:
        r->in_run = true;
        r->runs++;
        r->run = r->tables ? sqlite_source_run(r->tables) : r->runs;
        ret->kind = RECORD_RUN;
        break;
    case LINE_SAMPLE:
        ret->kind = RECORD_FRAME;
        ret->frame = &d->frame;
        break;
    case LINE_PROCESS:
        ret->kind = RECORD_PROCESS_END;
        ret->process_end = &d->process_end;
        /* For a record without a summary, which would have its own. */
        summary_process(&d->summary, d->process_end.process, &d->process_end);
        break;
    case LINE_MARK:
        ret->kind = read_mark_is_note(d) ? RECORD_NOTE : RECORD_MARK;
        ret->mark = &d->mark;
        ret->sentence = d->said.text;
        ret->elapsed_ns = d->mark.elapsed_ns;
        if (ret->kind == RECORD_NOTE)
            summary_note(&d->summary, d->said.text);
        break;
    default:
        ret->kind = RECORD_SUMMARY;
        ret->summary = &d->summary;
        r->in_run = false;
    }
    ret->number = r->run;
    ret->selection = &d->selection;
}

/* A run whose record has no summary gets one of its samples. */
static void record_reader_summarize(struct record_reader *r, bool at_end, struct record_item *ret)
{
    enum writer writer = r->tables ? being_written_tables(r->name, &r->reading.run)
                         : at_end  ? being_written_lines(r->lines.fd)
                                   : WRITER_GONE;
    ret->cut_short = no_summary_make(&r->reading, writer, r->tables != NULL);
    ret->may_be_running = writer == WRITER_UNKNOWN;
    record_reader_item(r, LINE_SUMMARY, ret);
}

int record_reader_next(struct record_reader *r, struct record_item *ret, struct toll_error *e)
{
    struct reading *d = &r->reading;
    enum record_line type = LINE_OTHER;
    enum mark_kind kind = MARK_KINDS;
    int n;
    *ret = (struct record_item){.run = &d->run, .number = r->run};
    while ((n = record_reader_peek(r, &type, &kind, e)) > 0 && type == LINE_OTHER)
        r->is_waiting = false;
    if (n < 0)
        return n;
    bool has_tables = r->tables || ends_with(r->name, ".sqlite") || ends_with(r->name, ".db");
    if (n == 0 && !r->in_run)
        return r->runs ? 0
                       : err_set(e, -EBADMSG,
                                 "cannot read '%s': no record in it (expected at least one %s)",
                                 r->name, has_tables ? "run" : "whole line");
    if (n == 0 || (type == LINE_RUN && r->in_run)) { /* the run was cut short */
        record_reader_summarize(r, n == 0, ret);
        return 1;
    }
    if (type == LINE_RUN) {
        bool shows_secrets = d->shows_secrets, no_args = d->no_args;
        record_reader_forget_run(d);
        *d = (struct reading){.self_entity = {.kind = ENTITY_SELF},
                              .shows_secrets = shows_secrets,
                              .no_args = no_args};
        for (unsigned part = 0; part < PARTS; part++)
            d->entities[part] = (struct entity){.kind = ENTITY_TARGET, .part = part};
    } else if (!r->in_run) {
        return record_reader_bad_line(r, ": a run begins with a line of type 'run'", e);
    }
    r->is_waiting = false;
    n = r->tables ? record_reader_name_tables(r->name, sqlite_source_read(r->tables, d, e), e)
                  : record_reader_read_line(r, type, kind);
    if (n > 0 && type == LINE_RUN && r->metrics && !reading_narrow_metrics(d, r->metrics))
        n = 0;
    if (n < 0)
        return n;
    if (n == 0 || d->no_memory)
        return record_reader_bad_line(r, "", e);
    record_reader_item(r, type, ret);
    return 1;
}
