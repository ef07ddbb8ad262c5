/* SPDX-License-Identifier: MIT
 * toll_record_export: a record is read, and the outputs are handed what it was made of, as if it
 * happened now. */
#include "base/err.h"
#include "base/io/output_file.h"
#include "base/memory.h"
#include "engine/outputs.h"
#include "engine/tracker.h"
#include "record/reader.h"
#include "sink/sink.h"
#include "sink/spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

/* ==== Send ==================================================================================== */

/* toll_send. */

int toll_send(const char *spool, const char *destination, struct toll_sent *ret,
              struct toll_error *e)
{
    struct toll_sent sent = {.size = sizeof sent};
    if (!spool || !*spool)
        return err_set(e, -EINVAL, "no spool file given");
    int r = ret ? sized_check(ret, "result", e) : 0;
    if (r < 0)
        return r;
    r = spool_send(spool, destination, &sent, e);
    if (ret)
        sized_give(ret, &sent, sizeof sent);
    return r;
}

/* ==== Runs ==================================================================================== */

/* toll_record_runs: what runs there are in a record. */

static void runs_describe(struct toll_run *ret, struct toll_end *end, struct toll_summary *used,
                          const struct record_item *item)
{
    static const char *const none[] = {NULL};
    const struct run *run = item->run;
    ret->name = run->name ? run->name : "";
    ret->command = run->command ? (const char *const *)run->command : none;
    ret->labels = run->labels ? (const char *const *)run->labels : none;
    ret->host = run->host;
    ret->id = run->id;
    ret->version = run->version ? run->version : "";
    ret->start_ns = run->start_real_ns;
    *end = item->summary->whole.end;
    end->size = sizeof *end;
    end->elapsed_ns = item->summary->elapsed_ns;
    ret->end = end;
    ret->cut_short = item->cut_short || (end->unknown && !end->ended);
    ret->may_be_running = item->may_be_running;
    ret->job_id = run->job.id;
    ret->array_index = run->job.array_index;
    ret->rank = run->parallel.rank;
    ret->local_rank = run->parallel.local_rank;
    ret->world_size = run->parallel.world_size;
    ret->launch = run->parallel.launch;
    *used = results_summarize(item->summary);
    ret->summary = used;
}

int toll_record_runs(const char *path, void (*run)(void *arg, const struct toll_run *run),
                     void *arg, struct toll_error *e)
{
    struct record_reader *reader = NULL;
    struct toll_run one = {0};
    struct toll_end end;
    struct toll_summary used;
    struct record_item item;
    if (!path || !run)
        return err_set(e, -EINVAL, path ? "run is NULL (expected a callback)" : "no record given");
    int r = record_reader_open(&reader, path, e);
    while (r == 0 && (r = record_reader_next(reader, &item, e)) > 0) {
        r = 0;
        if (item.kind == RECORD_RUN) {
            one.number = item.number;
            one.samples = 0;
        }
        one.samples += item.kind == RECORD_FRAME;
        if (item.kind != RECORD_SUMMARY)
            continue;
        const char **targets = calloc(item.run->target_count + 1, sizeof *targets);
        if (!targets) {
            r = err_set(e, -ENOMEM, "cannot read the record: out of memory");
            break;
        }
        for (size_t i = 0; i < item.run->target_count; i++) {
            const struct run_target *t = &item.run->targets[i];
            targets[i] = t->what ? t->what : t->name;
        }
        runs_describe(&one, &end, &used, &item);
        one.attached_to = targets;
        run(arg, &one);
        free(targets);
    }
    record_reader_free(reader);
    return r;
}

/* ==== Export ================================================================================== */

/* One place to write to. Each run has a sink of its own. */
struct place {
    struct toll_output output; /* as it was asked for */
    char *name;                /* owned: the path, or what it is called in a sentence */
    char *destination;         /* owned: of a kind that opens its place by itself, or NULL */
    struct replacement file;   /* of a destination: replaced as a whole, or not at all */
    bool may_stay_empty;       /* then there is no file */
    bool has_run;              /* one was written */
    bool has_failed;           /* nothing more is written to it */
    uint64_t chunks;           /* written */
    struct sink *sink;
};

struct export
{
    struct toll_export asked;
    struct selection selection; /* of the metrics that are wanted */
    struct record_reader *reader;
    struct place *places; /* owned */
    size_t place_count, place_capacity;
    uint64_t runs;            /* that were read */
    bool found;               /* the one that was asked for */
    int failure;              /* of the first output that failed, or 0 */
    struct toll_error reason; /* why that failed */
};

static void export_note(const struct export *x, const char *sentence)
{
    if (x->asked.note)
        x->asked.note(x->asked.note_arg, sentence);
}

/* ---- The outputs ----------------------------------------------------------------------------- */

/* It would grow while it is read, or be replaced by less than it was. */
static int export_check_place(const char *record, const struct sink_kind *kind, const char *place,
                              struct toll_error *e)
{
    const char *behind = sink_options_start(kind, place);
    CLEANUP_FREE char *path = strndup(place, behind ? (size_t)(behind - place) : strlen(place));
    if (!path)
        return err_set(e, -ENOMEM, "cannot open the outputs: out of memory");
    struct stat x, y;
    bool is_record = record && stat(record, &x) == 0 && stat(path, &y) == 0 &&
                     x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return is_record
               ? err_set(e, -EINVAL,
                         "cannot write to '%s': it is the record being read (choose another file)",
                         path)
               : 0;
}

static bool export_is_locked(const char *path)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static int export_cannot_write(const struct place *p, int r, const char *why, struct toll_error *e)
{
    const char *name = p->sink && p->sink->sender ? p->sink->name : p->name;
    bool is_stdout = !p->output.destination && p->output.fd == STDOUT_FILENO;
    return err_set(e, r, is_stdout ? "cannot write to %s: %s" : "cannot write to '%s': %s", name,
                   why);
}

/* A path becomes a descriptor of a new file, whose format has to be named then. A kind that opens
 * its place by itself is left alone. */
static int export_open_place(struct place *p, const char *record, struct toll_error *e)
{
    const struct sink_kind *kind;
    const char *path = p->output.fd == STDOUT_FILENO ? "stdout" : "a descriptor";
    int r = p->output.destination
                ? sink_choose(p->output.format, p->output.destination, &kind, &path, e)
                : 0;
    if (r < 0)
        return r;
    p->name = strdup(path);
    if (!p->name)
        return err_set(e, -ENOMEM, "cannot open the outputs: out of memory");
    if (!p->output.destination)
        return 0;
    r = export_check_place(record, kind, path, e);
    if (r < 0)
        return r;
    if (kind->open) {
        p->output.destination = p->destination = strdup(p->output.destination);
        return p->destination ? 0 : err_set(e, -ENOMEM, "cannot open the outputs: out of memory");
    }
    if (export_is_locked(path))
        return err_set(e, -EBUSY, "cannot write to '%s': in use by another toll process", path);
    r = replacement_open(&p->file, path, 0, e);
    p->output.format = kind->format.name;
    p->output.destination = NULL;
    p->output.fd = p->file.fd;
    return r;
}

static int export_add_output(void *export, const struct toll_output *o, struct toll_error *e)
{
    struct export *x = export;
    if (!ARRAY_RESERVE(x->places, x->place_capacity, x->place_count + 1))
        return err_set(e, -ENOMEM, "cannot open the outputs: out of memory");
    struct place *p = &x->places[x->place_count++];
    *p = (struct place){.file = REPLACEMENT_CLOSED, .output = *o};
    return export_open_place(p, x->asked.record, e);
}

static int export_open_places(struct export *x, struct toll_error *e)
{
    const struct toll_output *const *asked = x->asked.outputs;
    int r = 0;
    if (!asked || !asked[0])
        return err_set(e, -EINVAL, "no output given (expected at least one)");
    for (; r == 0 && *asked; asked++) {
        struct toll_output o;
        r = sized_take(&o, sizeof o, *asked, "output", e);
        o.size = sizeof o;
        if (r == 0)
            r = outputs_is_directory(&o) ? outputs_each_file(&o, export_add_output, x, e)
                                         : export_add_output(x, &o, e);
    }
    return r;
}

static void export_close_places(struct export *x)
{
    for (size_t i = 0; i < x->place_count; i++) {
        sink_close(x->places[i].sink, false);
        replacement_close(&x->places[i].file);
        free(x->places[i].name);
        free(x->places[i].destination);
    }
    free(x->places);
}

/* The others go on without it. The caller gets the first error, the rest are notes. */
static void export_fail(struct export *x, struct place *p, int error, const struct toll_error *why)
{
    p->has_failed = true;
    if (x->failure)
        export_note(x, why->message);
    else
        x->reason = *why;
    x->failure = x->failure ? x->failure : error;
}

static bool export_has_place(const struct export *x)
{
    for (size_t i = 0; i < x->place_count; i++)
        if (!x->places[i].has_failed)
            return true;
    return false;
}

static void export_commit_places(struct export *x)
{
    for (size_t i = 0; i < x->place_count; i++) {
        struct place *p = &x->places[i];
        struct toll_error e;
        if (p->has_failed || (p->may_stay_empty && !p->chunks && access(p->name, F_OK) != 0))
            continue;
        int r = replacement_commit(&p->file);
        if (r < 0) {
            export_cannot_write(p, r, strerror(-r), &e);
            export_fail(x, p, r, &e);
        }
    }
}

/* ---- From the record to the outputs ---------------------------------------------------------- */

static int export_hand(struct place *p, const struct record_item *item)
{
    switch (item->kind) {
    case RECORD_RUN: return sink_begin(p->sink, item->run);
    case RECORD_FRAME: return sink_frame(p->sink, item->frame);
    case RECORD_PROCESS_END: return sink_process_end(p->sink, item->process_end);
    case RECORD_MARK: return sink_mark(p->sink, item->mark);
    case RECORD_NOTE: return sink_note(p->sink, item->elapsed_ns, item->sentence);
    case RECORD_SUMMARY: return sink_summary(p->sink, item->summary);
    }
    return 0;
}

/* For what is sent by a thread of its own. It is waited for as long as it goes on; when nothing was
 * taken in this time it is not worth while. */
#define NO_PROGRESS_NS (60 * NS_PER_SECOND)

/* A file of a layout is known by its name. */
static int export_begin_run(struct place *p, const struct selection *selection,
                            const struct run *run, struct toll_error *e)
{
    int r = sink_open(&p->sink, &p->output, selection, e);
    if (r < 0)
        return r;
    bool is_file = p->file.fd >= 0 || p->destination; /* on stdout one may follow the other */
    if (p->has_run && is_file && sink_holds_one_run(p->sink))
        return err_set(e, -EINVAL,
                       "cannot write to '%s': %s holds one run, the record has several (choose "
                       "one, such as --run 1)",
                       p->name, p->sink->kind->format.name);
    p->has_run = true;
    p->sink->follows = p->chunks > 0;
    sink_take_file(p->sink, p->name);
    p->may_stay_empty = p->sink->may_stay_empty;
    sink_wait_for_room(p->sink, NO_PROGRESS_NS);
    return sink_check_subject(p->sink, run->command || run->target_count || run->pid, e);
}

static int export_end_run(const struct export *x, struct place *p, struct toll_error *e)
{
    struct output_summary came_of_it = {0};
    int r = 0;
    if (p->sink->sender) {
        sink_flush(p->sink);
        sink_end(p->sink);
        r = sink_wait(p->sink, &came_of_it);
    }
    p->chunks += p->sink->chunks;
    if (r < 0)
        err_set(e, r, "%s: %llu of %llu samples delivered%s%s", p->sink->name,
                (unsigned long long)came_of_it.delivered, (unsigned long long)came_of_it.samples,
                *came_of_it.why ? ": " : "", came_of_it.why);
    else if (came_of_it.has_kept)
        export_note(x, came_of_it.why);
    sink_close(p->sink, false);
    p->sink = NULL;
    return r;
}

static int export_hand_to_all(struct export *x, const struct record_item *item,
                              struct toll_error *e)
{
    struct selection selection = x->selection;
    selection_narrow(&selection, record_reader_selection(x->reader)); /* others are not unknown */
    for (size_t i = 0; i < x->place_count; i++) {
        struct place *p = &x->places[i];
        struct toll_error why;
        int r = 0;
        if (p->has_failed)
            continue;
        if (item->kind == RECORD_RUN)
            r = export_begin_run(p, &selection, item->run, e);
        if (r < 0)
            return r;
        p->sink->selection = selection;
        r = export_hand(p, item);
        if (r < 0) {
            char reason[256];
            if (!sink_take_report(p->sink, reason, sizeof reason))
                snprintf(reason, sizeof reason, "%s", strerror(-r));
            export_cannot_write(p, r, reason, &why);
        } else if (item->kind == RECORD_SUMMARY) {
            r = export_end_run(x, p, &why);
        }
        if (r < 0)
            export_fail(x, p, r, &why);
    }
    return 0;
}

static void export_note_run(const struct export *x, const struct record_item *item)
{
    char sentence[256];
    const char *unknown = record_reader_unknown(x->reader);
    if (item->cut_short)
        export_note(x, item->cut_short);
    if (!*unknown)
        return;
    snprintf(sentence, sizeof sentence,
             "the record has '%s', which is unknown to toll %s and ignored", unknown, TOLL_VERSION);
    export_note(x, sentence);
}

static int export_read_all(struct export *x, struct toll_error *e)
{
    struct record_item item;
    int r = 0;
    while (export_has_place(x) && (r = record_reader_next(x->reader, &item, e)) > 0) {
        x->runs += item.kind == RECORD_RUN;
        if (x->asked.run && item.number != x->asked.run)
            continue;
        x->found = true;
        r = export_hand_to_all(x, &item, e);
        if (r < 0)
            return r;
        if (item.kind == RECORD_SUMMARY)
            export_note_run(x, &item);
    }
    if (r == 0 && x->asked.run && !x->found && !x->failure)
        return err_set(e, -ENOENT, "no run %llu in the record (it has %llu)",
                       (unsigned long long)x->asked.run, (unsigned long long)x->runs);
    return r;
}

static int export_open_record(struct export *x, struct toll_error *e)
{
    const char *path = x->asked.record;
    char name[32];
    snprintf(name, sizeof name, x->asked.fd == STDIN_FILENO ? "stdin" : "descriptor %d",
             x->asked.fd);
    int r = path ? record_reader_open(&x->reader, path, e)
                 : record_reader_new(&x->reader, x->asked.fd, name, e);
    if (r == 0)
        record_reader_show(x->reader, x->asked.show_secrets, !x->asked.no_args);
    if (r == 0 && x->asked.metrics && record_reader_narrow(x->reader, x->asked.metrics) < 0)
        r = err_set(e, -ENOMEM, "cannot read the record: out of memory");
    return r;
}

int toll_record_export(const struct toll_export *asked, struct toll_error *e)
{
    struct export x = {0};
    if (!asked)
        return err_set(e, -EINVAL, "export is NULL");
    int r = sized_take(&x.asked, sizeof x.asked, asked, "export", e);
    if (r == 0)
        r = selection_parse(&x.selection, x.asked.metrics, e);
    if (r == 0)
        r = export_open_record(&x, e);
    if (r == 0)
        r = export_open_places(&x, e);
    if (r == 0)
        r = export_read_all(&x, e);
    if (r == 0)
        export_commit_places(&x);
    if (r == 0 && x.failure) {
        r = x.failure;
        if (e)
            *e = x.reason;
    }
    export_close_places(&x);
    record_reader_free(x.reader);
    return r;
}
