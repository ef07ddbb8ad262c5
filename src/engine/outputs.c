/* SPDX-License-Identifier: MIT */
#include "engine/outputs.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/io/output_file.h"
#include "base/memory.h"
#include "base/text/buf.h"
#include "base/text/encoding.h"
#include "base/text/secrets.h"
#include "engine/tracker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ==== Events ================================================================================== */

enum { ROOM_KEPT = 256 };

static struct event *events_append(struct events *e)
{
    if (!ARRAY_RESERVE(e->items, e->capacity, e->count + 1))
        return NULL;
    return &e->items[e->count++];
}

void events_add_note(struct events *e, uint64_t elapsed_ns, const char *format, va_list args)
{
    char sentence[NOTE_BYTES];
    vsnprintf(sentence, sizeof sentence, format, args);
    secrets_mask_sentence(sentence, sizeof sentence);
    text_make_printable(sentence); /* a process may call itself anything */
    char *copy = strdup(sentence);
    struct event *event = copy ? events_append(e) : NULL;
    if (!event) {
        free(copy);
        return;
    }
    event->elapsed_ns = elapsed_ns;
    event->note = copy;
}

void events_add_end(struct events *e, const struct process_end *end, bool is_recorded)
{
    struct event *event = events_append(e);
    if (!event)
        return;
    event->note = NULL;
    event->elapsed_ns = end->elapsed_ns;
    event->end = *end;
    event->process = *end->process;
    event->process.command = end->process->command ? strdup(end->process->command) : NULL;
    event->is_recorded = is_recorded;
}

void events_clear(struct events *e)
{
    for (size_t i = 0; i < e->count; i++) {
        if (!e->items[i].note)
            free(e->items[i].process.command);
        free(e->items[i].note);
    }
    e->count = 0;
    if (e->capacity > ROOM_KEPT) {
        free(e->items);
        e->items = NULL;
        e->capacity = 0;
    }
}

void events_done(struct events *e)
{
    events_clear(e);
    free(e->items);
    *e = (struct events){0};
}

/* ==== Outputs ================================================================================= */

#define SHORT_WAIT_NS (300 * NS_PER_MS) /* not worth a note */
#define LOOK_NS       (50 * NS_PER_MS)  /* whether it is still waited for */

/* Tells the caller; in the background on a thread of the program's. */
static void outputs_call(struct outputs *o, const char *sentence)
{
    const struct toll_options *options = o->options;
    if (options->note && o->background->is_on)
        frame_queue_put_note(&o->background->frames, sentence);
    else if (options->note)
        options->note(options->note_arg, sentence);
}

static void outputs_record(struct outputs *o, uint64_t elapsed_ns, const char *sentence)
{
    for (size_t i = 0; i < o->count; i++)
        sink_note(o->sinks[i], elapsed_ns, sentence);
}

static uint64_t outputs_elapsed_ns(const struct outputs *o)
{
    return left_u64(clock_mono(o->tracked->scripted), o->tracked->start_ns);
}

/* What becomes of outputs at the end: the caller may want to know that apart from all else. */
static void outputs_call_ending(struct outputs *o, bool has_failed, const char *sentence)
{
    const struct toll_options *options = o->options;
    if (options->ending && o->background->is_on)
        frame_queue_put_ending(&o->background->frames, has_failed, sentence);
    else if (options->ending)
        options->ending(options->ending_arg, has_failed, sentence);
    else if (has_failed)
        outputs_call(o, sentence);
}

/* An output has lost something: also for the summaries that are not written yet. */
PRINTF_LIKE(2, 3) static void outputs_note_failed(struct outputs *o, const char *format, ...)
{
    struct events one = {0};
    va_list args;
    va_start(args, format);
    events_add_note(&one, outputs_elapsed_ns(o), format, args);
    va_end(args);
    background_lock(o->background);
    bool is_new = one.count && summary_note(o->summary, one.items[0].note);
    background_unlock(o->background);
    if (is_new) {
        outputs_call_ending(o, true, one.items[0].note);
        outputs_record(o, one.items[0].elapsed_ns, one.items[0].note);
    }
    events_done(&one);
}

/* A failure is reported at once; the summary says at the end what was dropped. */
static void outputs_check(struct outputs *o, struct sink *s, int result)
{
    if (result == 0 || s->is_failure_noted)
        return;
    s->is_failure_noted = true;
    char sentence[512];
    snprintf(sentence, sizeof sentence, "cannot write to '%s': %s; the job continues", s->name,
             sink_failure(s));
    outputs_call(o, sentence);
    outputs_record(o, outputs_elapsed_ns(o), sentence);
}

void outputs_send_events(struct outputs *o, struct events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        struct event *event = &events->items[i];
        if (event->note && summary_note(o->summary, event->note)) {
            outputs_call(o, event->note);
            outputs_record(o, event->elapsed_ns, event->note);
        }
        event->end.process = &event->process;
        event->end.command = event->note ? NULL : event->process.command;
        if (!event->note)
            summary_process(o->summary, &event->process, &event->end);
        for (size_t k = 0; !event->note && event->is_recorded && k < o->count; k++)
            outputs_check(o, o->sinks[k], sink_process_end(o->sinks[k], &event->end));
    }
    events_clear(events);
}

void outputs_environment(struct outputs *o, const struct run *run, struct environment *e)
{
    for (size_t i = 0; i < o->count; i++) {
        struct sink *s = o->sinks[i];
        s->run = run;
        const char *const *variable = s->kind->environment ? s->kind->environment(s) : NULL;
        for (; variable && *variable; variable++)
            environment_add(e, *variable);
    }
}

void outputs_begin(struct outputs *o, const struct run *run)
{
    struct events *events = &o->tracked->events;
    /* All first: nothing may be sent to one that has not begun. */
    for (size_t i = 0; i < o->count; i++)
        sink_begin(o->sinks[i], run);
    outputs_send_events(o, events);
    for (size_t i = 0; i < o->count; i++) {
        struct sink *s = o->sinks[i];
        outputs_check(o, s, s->failure);
        if (*s->notice)
            tracked_note(o->tracked, "%s: %s", s->kind->format.name, s->notice);
        outputs_send_events(o, events);
    }
}

void outputs_frame(struct outputs *o, const struct frame *f)
{
    for (size_t i = 0; i < o->count; i++)
        outputs_check(o, o->sinks[i], sink_frame(o->sinks[i], f));
    /* What a sender could not do, once for each time it begins to fail. */
    for (size_t i = 0; i < o->count; i++) {
        char why[256], sentence[512];
        if (!sink_take_report(o->sinks[i], why, sizeof why))
            continue;
        snprintf(sentence, sizeof sentence, "%s: %s; the job continues", o->sinks[i]->name, why);
        outputs_call(o, sentence);
        outputs_record(o, outputs_elapsed_ns(o), sentence);
    }
}

void outputs_mark(struct outputs *o, const struct run_mark *m)
{
    for (size_t i = 0; i < o->count; i++)
        outputs_check(o, o->sinks[i], sink_mark(o->sinks[i], m));
}

static void outputs_note_waits(struct outputs *o)
{
    char sentence[NOTE_BYTES];
    uint64_t soon = clock_mono(NULL) + SHORT_WAIT_NS;
    for (size_t i = 0; i < o->count; i++) {
        struct sink *s = o->sinks[i];
        if (!s->sender || s->grace_ns <= SHORT_WAIT_NS || sender_wait_until(s->sender, soon))
            continue;
        snprintf(sentence, sizeof sentence, "%s: sending the rest, for up to %.3g s", s->name,
                 (double)s->grace_ns / NS_PER_SECOND);
        outputs_call_ending(o, false, sentence);
    }
}

/* Until all senders are done, or the caller has had enough. */
static void wait_for_senders(struct outputs *o)
{
    for (size_t i = 0; i < o->count; i++) {
        struct sender *c = o->sinks[i]->sender;
        while (c && !sender_wait_until(c, clock_mono(NULL) + LOOK_NS) && !sender_is_over(c))
            if (atomic_load(&o->is_hurried)) {
                for (size_t k = 0; k < o->count; k++)
                    if (o->sinks[k]->sender)
                        sender_end(o->sinks[k]->sender, 0);
                return;
            }
    }
}

static void add_samples(struct buf *b, uint64_t count, uint64_t of, const char *what)
{
    buf_printf(b, "%s%llu of %llu samples %s", b->length ? ", " : "", (unsigned long long)count,
               (unsigned long long)of, what);
}

/* Reports samples that were lost, or that wait in the spool to be sent later. */
static void outputs_call_lost(struct outputs *o, const struct output_summary *of)
{
    char sentence[NOTE_BYTES];
    struct buf what = {0};
    if (of->is_whole && !of->kept && !of->has_kept)
        return;
    if (of->has_nothing && of->way == OUTPUT_FILE)
        buf_puts(&what, "the run was not saved");
    if (of->dropped)
        add_samples(&what, of->dropped, of->samples, "lost");
    if (of->kept)
        add_samples(&what, of->kept, of->samples, "kept to send later");
    else if (of->has_kept)
        buf_printf(&what, "%sthe end kept to send later", what.length ? ", " : "");
    snprintf(sentence, sizeof sentence, "%s: %s%s%s", of->name,
             what.length && !buf_failed(&what) ? what.data : "incomplete", *of->why ? ": " : "",
             of->why);
    buf_done(&what);
    outputs_call_ending(o, true, sentence);
}

/* Outputs with senders end first, all at once: the summary that the others get has their outcome.
 */
static void end_senders(struct outputs *o)
{
    bool has_any = false;
    for (size_t i = 0; i < o->count; i++) {
        struct sink *sink = o->sinks[i];
        if (!sink->sender)
            continue;
        sink_summary(sink, o->summary);
        sink_end(sink);
        has_any = true;
    }
    if (!has_any)
        return;
    outputs_note_waits(o);
    wait_for_senders(o);
}

static void outputs_collect_outcomes(struct outputs *o)
{
    struct output_summary *of = o->count ? calloc(o->count, sizeof *of) : NULL;
    if (!of)
        return;
    size_t count = 0;
    for (size_t i = 0; i < o->count; i++)
        if (o->sinks[i]->sender)
            sink_wait(o->sinks[i], &of[count++]);
    for (size_t i = 0; i < count; i++)
        outputs_call_lost(o, &of[i]);
    for (size_t i = 0; i < o->count; i++)
        if (!o->sinks[i]->sender && sink_outcome(o->sinks[i], &of[count]))
            count++;
    background_lock(o->background);
    o->summary->outputs = of;
    o->summary->output_count = count;
    background_unlock(o->background);
}

/* Files have grown by their own summary, or could not take it: the summary for people, which comes
 * last, has their final size. The order is that of outputs_collect_outcomes. */
static void outputs_refresh_outcomes(struct outputs *o)
{
    size_t at = o->summary->output_count;
    background_lock(o->background);
    for (size_t i = o->count; i-- > 0;) {
        struct output_summary now;
        if (!o->sinks[i]->sender && at && sink_outcome(o->sinks[i], &now))
            o->summary->outputs[--at] = now;
    }
    background_unlock(o->background);
}

/* ---- Slow readers ---- */

/* A reader of samples that takes nothing for a second has stopped reading. The summary is for a
 * person, who may sit before a page of 'less' that is full. */
#define SAMPLES_STALL_NS (1 * NS_PER_SECOND)
#define SAMPLES_GRACE_NS (5 * NS_PER_SECOND)
#define SUMMARY_STALL_NS (60 * NS_PER_SECOND)

/* Until the reader has taken all, or takes nothing any more, or the caller has had enough. What it
 * has not taken is lost then. */
static void wait_for_reader(struct outputs *o, struct sink *s, uint64_t stall_ns, uint64_t grace_ns)
{
    uint64_t start = clock_mono(NULL), last = start, now = start;
    bool is_waiting = false;
    while (sink_has_waiting(s) && !atomic_load(&o->is_hurried) &&
           now < min_u64(last + stall_ns, sum_u64(start, grace_ns))) {
        bool has_taken = sink_write_waiting(s, LOOK_NS / NS_PER_MS);
        now = clock_mono(NULL);
        if (has_taken)
            last = now;
        else
            usleep(1000); /* there may be room, and still no turn for us */
        if (!is_waiting && now - start > SHORT_WAIT_NS) {
            char sentence[NOTE_BYTES];
            snprintf(sentence, sizeof sentence, "%s: waiting %.3g s for its reader", s->name,
                     (double)stall_ns / NS_PER_SECOND);
            outputs_call_ending(o, false, sentence);
            is_waiting = true;
        }
    }
    if (sink_has_waiting(s))
        sink_drop_waiting(s);
}

/* A failure is reported by the outputs that come after it. */
static void outputs_write_summary(struct outputs *o, struct sink *s, uint64_t stall_ns,
                                  uint64_t grace_ns, int *first_failure)
{
    bool was_whole = !s->dropped;
    int r = s->sender ? 0 : sink_summary(s, o->summary);
    wait_for_reader(o, s, stall_ns, grace_ns);
    if ((r < 0 || s->dropped) && was_whole)
        outputs_note_failed(o, "cannot write to '%s': %s", s->name, sink_failure(s));
    if (!*first_failure)
        *first_failure = s->failure;
}

int outputs_summary(struct outputs *o)
{
    int first = 0;
    end_senders(o);
    for (size_t i = 0; i < o->count; i++)
        if (o->sinks[i]->kind->frame)
            wait_for_reader(o, o->sinks[i], SAMPLES_STALL_NS, SAMPLES_GRACE_NS);
    outputs_collect_outcomes(o);
    for (size_t i = 0; i < o->count; i++) {
        struct sink *s = o->sinks[i];
        if (s->dropped && s->failure == -EAGAIN)
            outputs_note_failed(o, "%s: destination too slow, %llu of %llu samples dropped",
                                s->name, (unsigned long long)s->missing,
                                (unsigned long long)s->samples);
        else if (s->dropped)
            outputs_note_failed(
                o, "cannot write %llu of %llu parts of '%s': %s", (unsigned long long)s->dropped,
                (unsigned long long)(s->dropped + s->chunks), s->name, sink_failure(s));
        else if (s->failure && s->way == OUTPUT_SCRAPED) { /* a note has said so at the beginning */
            char sentence[NOTE_BYTES];
            snprintf(sentence, sizeof sentence, "%s: nothing was served: %s", s->name,
                     sink_failure(s));
            outputs_call_ending(o, true, sentence);
        }
    }
    for (size_t i = 0; i < o->count; i++)
        if (o->sinks[i]->kind->frame)
            outputs_write_summary(o, o->sinks[i], SAMPLES_STALL_NS, SAMPLES_GRACE_NS, &first);
    outputs_refresh_outcomes(o);
    for (size_t i = 0; i < o->count; i++)
        if (!o->sinks[i]->kind->frame)
            outputs_write_summary(o, o->sinks[i], SUMMARY_STALL_NS, UINT64_MAX, &first);
    return first;
}

void outputs_close(struct outputs *o, bool discard)
{
    for (size_t i = 0; i < o->count; i++)
        sink_close(o->sinks[i], discard);
    free(o->sinks);
    o->sinks = NULL;
    o->count = 0;
}

/* ==== Backup ================================================================================== */

#define EVERY_NS NS_PER_SECOND

enum { WAIT_MS = 1000 };

/* The class of a part, by its name and by that of its first member. */
static const char *class_of(const char *key, const char *first)
{
    static const char *const classes[][2] = {
        {"", "ResourceUsage"},
        {"max_ram", "MaxRAM"},
        {"max_gpu_ram", "MaxGPURAM"},
        {"cpu_utilization", "CPUUtilization"},
        {"gpu_utilization", "GPUUtilization"},
        {"compute_time", "ComputeTime"},
    };
    if (strcmp(first, "total_rss") == 0)
        return "RSSValues";
    if (strcmp(first, "max_sum_percent") == 0)
        return "ProcessingUnitPercentages";
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strcmp(classes[i][0], key) == 0)
            return classes[i][1];
    return NULL;
}

static const struct pickle_classes data_classes = {"toll.compat.gpu_tracker.tracker", class_of};

static char *backup_absolute(const char *path)
{
    struct buf all = {0};
    CLEANUP_FREE char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    if (*path != '/' && !here)
        return NULL;
    buf_printf(&all, "%s%s%s", here ? here : "", here ? "/" : "", path);
    return buf_failed(&all) ? NULL : all.data;
}

int backup_set(struct toll_tracker *t, const char *path, const char *layout, struct toll_error *e)
{
    struct layout_choice choice;
    int r = layout_choice_parse(&choice, layout, e);
    if (r < 0)
        return r;
    r = layout_choice_check_format(&choice, "json", e);
    layout_choice_done(&choice);
    if (r < 0)
        return r;
    backup_done(&t->backup);
    t->backup.path = backup_absolute(path);
    t->backup.layout = strdup(layout);
    if (!t->backup.path || !t->backup.layout) {
        r = t->backup.layout ? -errno : -ENOMEM;
        backup_done(&t->backup);
        return err_set(e, r, "%s: %s", path, strerror(-r));
    }
    return 0;
}

static int replace_file(const char *path, const struct buf *pickle)
{
    struct replacement file;
    struct stream out;
    int r = replacement_open(&file, path, 0, NULL);
    if (r < 0)
        return r;
    stream_open(&out, file.fd);
    r = stream_write_patiently(&out, pickle->data, pickle->length, WAIT_MS);
    stream_close(&out);
    if (r == 0)
        r = replacement_commit(&file);
    replacement_close(&file);
    return r;
}

void backup_write(struct toll_tracker *t)
{
    struct backup *b = &t->backup;
    struct toll_output like = {.format = "json", .layout = b->layout};
    struct buf json = {0}, pickle = {0};
    if (!b->path || b->has_failed || (b->is_written && t->frame.mono_ns < b->due_ns))
        return;
    int r = results_write(t, &like, &json, NULL);
    if (r == 0)
        r = pickle_from_json_as(&pickle, json.data, json.length, &data_classes);
    if (r == 0)
        r = replace_file(b->path, &pickle);
    buf_done(&json);
    buf_done(&pickle);
    b->is_written |= r == 0;
    b->has_failed = r < 0;
    if (t->frame.mono_ns) /* the one of the beginning has nothing in it yet */
        b->due_ns = t->frame.mono_ns + EVERY_NS;
    if (r < 0)
        tracked_note(&t->tracked, "cannot write the backup '%s': %s; the job continues", b->path,
                     strerror(-r));
}

void backup_remove(struct backup *b)
{
    if (b->is_written)
        unlink(b->path);
    b->is_written = false;
}

void backup_done(struct backup *b)
{
    free(b->path);
    free(b->layout);
    *b = (struct backup){0};
}

/* ==== Outputs open ============================================================================ */

static int outputs_add_one(void *tracker, const struct toll_output *asked, struct toll_error *e)
{
    struct toll_tracker *t = tracker;
    struct outputs *o = &t->outputs;
    struct sink *s;
    for (size_t i = 0; asked->destination && i < o->count; i++)
        if (sink_writes_to(o->sinks[i], asked->destination))
            return err_set(e, -EINVAL, "output '%s' is given twice", asked->destination);
    if (!ARRAY_GROW(o->sinks, o->count))
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    int r = sink_open(&s, asked, &t->selection, e);
    if (r < 0)
        return r;
    o->sinks[o->count++] = s;
    t->run.system |= sink_needs_system(s);
    t->slow.is_in_rows |= sink_needs_rollup(s);
    return 0;
}

bool outputs_is_directory(const struct toll_output *o)
{
    return o->layout && o->destination && file_is_directory(o->destination);
}

int outputs_each_file(const struct toll_output *o,
                      int (*add)(void *arg, const struct toll_output *one, struct toll_error *e),
                      void *arg, struct toll_error *e)
{
    struct layout_choice choice;
    int r = layout_choice_parse(&choice, o->layout, e);
    if (r < 0)
        return r;
    const struct layout *d = choice.layout;
    if (!d->tables[0].file)
        r = err_set(
            e, -EINVAL,
            "'%s' is a directory, but layout %s writes a single file (expected a file name)",
            o->destination, d->facts.name);
    else if (mkdir(o->destination, 0777) < 0 && errno != EEXIST)
        r = err_set(e, -errno, "cannot create directory '%s': %s", o->destination, strerror(errno));
    for (size_t i = 0; r == 0 && i < d->table_count; i++) {
        struct buf path = {0};
        struct toll_output one = *o;
        buf_printf(&path, "%s%s%s", o->destination, ends_with(o->destination, "/") ? "" : "/",
                   d->tables[i].file);
        one.destination = path.data;
        one.format = d->tables[i].format;
        r = buf_failed(&path) ? err_set(e, -ENOMEM, "cannot open the output: out of memory")
                              : add(arg, &one, e);
        buf_done(&path);
    }
    layout_choice_done(&choice);
    return r;
}

int outputs_add(struct toll_tracker *t, const struct toll_output *o, struct toll_error *e)
{
    return outputs_is_directory(o) ? outputs_each_file(o, outputs_add_one, t, e)
                                   : outputs_add_one(t, o, e);
}
