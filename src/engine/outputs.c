/* SPDX-License-Identifier: MIT */
#include "engine/outputs.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/io/output_file.h"
#include "base/memory.h"
#include "base/text/buf.h"
#include "base/text/pickle.h"
#include "base/text/secrets.h"
#include "engine/api.h"
#include "engine/tracker.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ==== Outputs ================================================================================= */

#define SHORT_WAIT_NS (300 * NS_PER_MS) /* nobody needs to be told of */
#define LOOK_NS       (50 * NS_PER_MS)  /* whether it is still waited for */

static void tell_caller(struct toll_tracker *t, const char *sentence)
{
    if (t->options.note && t->background.is_on)
        frame_queue_put_note(&t->background.frames, sentence); /* for a thread of the program's */
    else if (t->options.note)
        t->options.note(t->options.note_arg, sentence);
}

static void tell_record(struct toll_tracker *t, const char *sentence)
{
    uint64_t elapsed = left_u64(clock_mono(t->scripted), t->start_ns);
    for (size_t i = 0; i < t->sink_count; i++)
        sink_note(t->sinks[i], elapsed, sentence);
}

static void outputs_tell(struct toll_tracker *t, const char *sentence)
{
    tell_caller(t, sentence);
    tell_record(t, sentence);
}

enum { SENTENCE_BYTES = 768 };

static void outputs_compose(char *sentence, const char *format, va_list args)
{
    vsnprintf(sentence, SENTENCE_BYTES, format, args);
    secrets_mask_sentence(sentence, SENTENCE_BYTES);
    text_make_printable(sentence); /* a process may call itself anything */
}

void outputs_note(struct toll_tracker *t, const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list args;
    va_start(args, format);
    outputs_compose(sentence, format, args);
    va_end(args);
    if (summary_note(&t->summary, sentence))
        outputs_tell(t, sentence);
}

/* The caller may want to know these apart from all else. */
static void tell_ending(struct toll_tracker *t, bool has_failed, const char *sentence)
{
    if (t->options.ending && t->background.is_on)
        frame_queue_put_ending(&t->background.frames, has_failed, sentence);
    else if (t->options.ending)
        t->options.ending(t->options.ending_arg, has_failed, sentence);
    else if (has_failed)
        tell_caller(t, sentence);
}

PRINTF_LIKE(2, 3) static void note_failed(struct toll_tracker *t, const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list args;
    va_start(args, format);
    outputs_compose(sentence, format, args);
    va_end(args);
    background_lock(t);
    bool is_new = summary_note(&t->summary, sentence);
    background_unlock(t);
    if (!is_new)
        return;
    tell_ending(t, true, sentence);
    tell_record(t, sentence);
}

/* A failure is told at once; the summary tells at the end what was dropped. */
static void outputs_check(struct toll_tracker *t, struct sink *s, int result)
{
    if (result == 0 || s->is_failure_noted)
        return;
    s->is_failure_noted = true;
    char sentence[512];
    snprintf(sentence, sizeof sentence, "cannot write to '%s': %s; the job goes on", s->name,
             sink_failure(s));
    outputs_tell(t, sentence);
}

void outputs_environment(struct toll_tracker *t, struct environment *e)
{
    for (size_t i = 0; i < t->sink_count; i++) {
        struct sink *s = t->sinks[i];
        s->run = &t->run;
        const char *const *variable = s->kind->environment ? s->kind->environment(s) : NULL;
        for (; variable && *variable; variable++)
            environment_add(e, *variable);
    }
}

void outputs_begin(struct toll_tracker *t)
{
    /* All first: nothing may be told to one that has not begun. */
    for (size_t i = 0; i < t->sink_count; i++)
        sink_begin(t->sinks[i], &t->run);
    for (size_t i = 0; i < t->sink_count; i++) {
        outputs_check(t, t->sinks[i], t->sinks[i]->failure);
        if (*t->sinks[i]->notice)
            outputs_note(t, "%s %s", t->sinks[i]->kind->format.name, t->sinks[i]->notice);
    }
}

/* What a sender could not do, once for each time it begins to fail. */
static void tell_troubles(struct toll_tracker *t)
{
    char why[256], sentence[512];
    for (size_t i = 0; i < t->sink_count; i++)
        if (sink_take_report(t->sinks[i], why, sizeof why)) {
            snprintf(sentence, sizeof sentence, "%s: %s; the job goes on", t->sinks[i]->name, why);
            outputs_tell(t, sentence);
        }
}

void outputs_frame(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->sink_count; i++)
        outputs_check(t, t->sinks[i], sink_frame(t->sinks[i], &t->frame));
    backup_write(t);
    tell_troubles(t);
}

void outputs_process_end(struct toll_tracker *t, const struct process_end *e)
{
    for (size_t i = 0; i < t->sink_count; i++)
        outputs_check(t, t->sinks[i], sink_process_end(t->sinks[i], e));
}

void outputs_mark(struct toll_tracker *t, const struct told_mark *m)
{
    for (size_t i = 0; i < t->sink_count; i++)
        outputs_check(t, t->sinks[i], sink_mark(t->sinks[i], m));
}

static void tell_of_waits(struct toll_tracker *t)
{
    char sentence[SENTENCE_BYTES];
    uint64_t soon = clock_mono(NULL) + SHORT_WAIT_NS;
    for (size_t i = 0; i < t->sink_count; i++) {
        struct sink *s = t->sinks[i];
        if (!s->sender || s->grace_ns <= SHORT_WAIT_NS || sender_wait_until(s->sender, soon))
            continue;
        snprintf(sentence, sizeof sentence, "%s: waiting for what is left, %.3g s at most", s->name,
                 (double)s->grace_ns / NS_PER_SECOND);
        tell_ending(t, false, sentence);
    }
}

static void end_waits(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->sink_count; i++)
        if (t->sinks[i]->sender)
            sender_end(t->sinks[i]->sender, 0);
}

/* Until nobody is waited for any more, or whoever waits has had enough. */
static void wait_for_senders(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->sink_count; i++) {
        struct sender *c = t->sinks[i]->sender;
        while (c && !sender_wait_until(c, clock_mono(NULL) + LOOK_NS) && !sender_is_over(c))
            if (atomic_load(&t->is_hurried)) {
                end_waits(t);
                return;
            }
    }
}

static void add_samples(struct buf *b, uint64_t count, uint64_t of, const char *what)
{
    buf_printf(b, "%s%llu of %llu samples are %s", b->length ? ", " : "", (unsigned long long)count,
               (unsigned long long)of, what);
}

/* Or was put aside, for somebody to send. The summary has a line for it anyway. */
static void tell_what_was_lost(struct toll_tracker *t, const struct output_summary *o)
{
    char sentence[SENTENCE_BYTES];
    struct buf what = {0};
    if (o->is_whole && !o->kept && !o->has_kept)
        return;
    if (o->dropped)
        add_samples(&what, o->dropped, o->samples, "lost");
    if (o->kept)
        add_samples(&what, o->kept, o->samples, "put aside");
    else if (o->has_kept)
        buf_printf(&what, "%sthe end is put aside", what.length ? ", " : "");
    snprintf(sentence, sizeof sentence, "%s: %s%s%s", o->name,
             what.length && !buf_failed(&what) ? what.data : "not everything arrived",
             *o->why ? ": " : "", o->why);
    buf_done(&what);
    tell_ending(t, true, sentence);
}

/* Those with senders first, all at once: what comes of it is in the summary of the others. */
static void end_senders(struct toll_tracker *t)
{
    bool has_any = false;
    for (size_t i = 0; i < t->sink_count; i++) {
        struct sink *sink = t->sinks[i];
        if (!sink->sender)
            continue;
        sink_summary(sink, &t->summary);
        sink_end(sink);
        has_any = true;
    }
    if (!has_any)
        return;
    tell_of_waits(t);
    wait_for_senders(t);
}

static void tell_outcomes(struct toll_tracker *t)
{
    struct summary *s = &t->summary;
    struct output_summary *o = t->sink_count ? calloc(t->sink_count, sizeof *o) : NULL;
    if (!o)
        return;
    size_t count = 0;
    for (size_t i = 0; i < t->sink_count; i++)
        if (t->sinks[i]->sender)
            sink_wait(t->sinks[i], &o[count++]);
    for (size_t i = 0; i < count; i++)
        tell_what_was_lost(t, &o[i]);
    for (size_t i = 0; i < t->sink_count; i++)
        if (!t->sinks[i]->sender && sink_outcome(t->sinks[i], &o[count]))
            count++;
    background_lock(t);
    s->outputs = o;
    s->output_count = count;
    background_unlock(t);
}

/* ---- Slow readers ---- */

/* A reader of samples that takes nothing for a second has stopped reading. The summary is for a
 * person, who may sit before a page of 'less' that is full. */
#define SAMPLES_STALL_NS (1 * NS_PER_SECOND)
#define SAMPLES_GRACE_NS (5 * NS_PER_SECOND)
#define SUMMARY_STALL_NS (60 * NS_PER_SECOND)

/* Until the reader has taken all, or takes nothing any more, or the caller has had enough. What it
 * has not taken is lost then. */
static void wait_for_reader(struct toll_tracker *t, struct sink *s, uint64_t stall_ns,
                            uint64_t grace_ns)
{
    uint64_t start = clock_mono(NULL), last = start, now = start;
    bool is_waiting = false;
    while (sink_has_waiting(s) && !atomic_load(&t->is_hurried) &&
           now < min_u64(last + stall_ns, sum_u64(start, grace_ns))) {
        bool has_taken = sink_write_waiting(s, LOOK_NS / NS_PER_MS);
        now = clock_mono(NULL);
        if (has_taken)
            last = now;
        else
            usleep(1000); /* there may be room, and still no turn for us */
        if (!is_waiting && now - start > SHORT_WAIT_NS) {
            char sentence[SENTENCE_BYTES];
            snprintf(sentence, sizeof sentence, "%s: waiting for what is left to be read, %.3g s",
                     s->name, (double)stall_ns / NS_PER_SECOND);
            tell_ending(t, false, sentence);
            is_waiting = true;
        }
    }
    if (sink_has_waiting(s))
        sink_drop_waiting(s);
}

static void wait_for_sample_readers(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->sink_count; i++)
        if (t->sinks[i]->kind->frame)
            wait_for_reader(t, t->sinks[i], SAMPLES_STALL_NS, SAMPLES_GRACE_NS);
}

int outputs_summary(struct toll_tracker *t)
{
    int first = 0;
    end_senders(t);
    wait_for_sample_readers(t);
    tell_outcomes(t);
    for (size_t i = 0; i < t->sink_count; i++) {
        struct sink *s = t->sinks[i];
        if (s->dropped && s->failure == -EAGAIN)
            note_failed(t, "%s: destination too slow, %llu of %llu samples dropped", s->name,
                        (unsigned long long)s->missing, (unsigned long long)s->samples);
        else if (s->dropped)
            note_failed(t, "%llu of %llu pieces for '%s' could not be written: %s",
                        (unsigned long long)s->dropped,
                        (unsigned long long)(s->dropped + s->chunks), s->name, sink_failure(s));
        else if (s->failure && s->way == OUTPUT_SCRAPED) { /* a note has said so at the beginning */
            char sentence[SENTENCE_BYTES];
            snprintf(sentence, sizeof sentence, "%s: nothing was served: %s", s->name,
                     sink_failure(s));
            tell_ending(t, true, sentence);
        }
    }
    for (size_t i = 0; i < t->sink_count; i++) {
        struct sink *s = t->sinks[i];
        bool was_whole = !s->dropped;
        int r = s->sender ? 0 : sink_summary(s, &t->summary);
        bool is_stream = s->kind->frame;
        wait_for_reader(t, s, is_stream ? SAMPLES_STALL_NS : SUMMARY_STALL_NS,
                        is_stream ? SAMPLES_GRACE_NS : UINT64_MAX);
        if ((r < 0 || s->dropped) && was_whole) /* for those that come after it to tell */
            note_failed(t, "cannot write to '%s': %s", s->name, sink_failure(s));
        if (!first)
            first = s->failure;
    }
    return first;
}

void outputs_close(struct toll_tracker *t, bool discard)
{
    for (size_t i = 0; i < t->sink_count; i++)
        sink_close(t->sinks[i], discard);
    free(t->sinks);
    t->sinks = NULL;
    t->sink_count = 0;
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
    backup_done(t);
    t->backup.path = backup_absolute(path);
    t->backup.layout = strdup(layout);
    if (!t->backup.path || !t->backup.layout) {
        r = t->backup.layout ? -errno : -ENOMEM;
        backup_done(t);
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
        outputs_note(t, "cannot write the backup '%s': %s; the job goes on", b->path, strerror(-r));
}

void backup_remove(struct toll_tracker *t)
{
    if (t->backup.is_written)
        unlink(t->backup.path);
    t->backup.is_written = false;
}

void backup_done(struct toll_tracker *t)
{
    free(t->backup.path);
    free(t->backup.layout);
    t->backup = (struct backup){0};
}

/* ==== Outputs open ============================================================================ */

static int add_one(void *tracker, const struct toll_output *o, struct toll_error *e)
{
    struct toll_tracker *t = tracker;
    struct sink *s;
    for (size_t i = 0; o->destination && i < t->sink_count; i++)
        if (sink_writes_to(t->sinks[i], o->destination))
            return err_set(e, -EINVAL, "'%s' is given twice", o->destination);
    if (!ARRAY_GROW(t->sinks, t->sink_count))
        return err_set(e, -ENOMEM, "no memory for an output");
    int r = sink_open(&s, o, &t->selection, e);
    if (r < 0)
        return r;
    t->sinks[t->sink_count++] = s;
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
        r = err_set(e, -EINVAL,
                    "'%s' is a directory, and the dialect %s has no files of several names; it "
                    "takes a file",
                    o->destination, d->facts.name);
    else if (mkdir(o->destination, 0777) < 0 && errno != EEXIST)
        r = err_set(e, -errno, "cannot make the directory '%s': %s", o->destination,
                    strerror(errno));
    for (size_t i = 0; r == 0 && i < d->table_count; i++) {
        struct buf path = {0};
        struct toll_output one = *o;
        buf_printf(&path, "%s%s%s", o->destination, ends_with(o->destination, "/") ? "" : "/",
                   d->tables[i].file);
        one.destination = path.data;
        one.format = d->tables[i].format;
        r = buf_failed(&path) ? err_set(e, -ENOMEM, "no memory for an output") : add(arg, &one, e);
        buf_done(&path);
    }
    layout_choice_done(&choice);
    return r;
}

int outputs_add(struct toll_tracker *t, const struct toll_output *o, struct toll_error *e)
{
    return outputs_is_directory(o) ? outputs_each_file(o, add_one, t, e) : add_one(t, o, e);
}
