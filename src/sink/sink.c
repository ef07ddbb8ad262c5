/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"

#include "base/io/file.h"
#include "base/io/output_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ==== Run end ================================================================================= */

void run_end_take(struct run_end *ret, const struct summary *s)
{
    const struct toll_end *how = &s->whole.end;
    bool is_cut_short = how->unknown && !how->ended; /* a record that lacks its end */
    *ret = (struct run_end){
        .time_ms = is_cut_short ? 0 : (s->run->start_real_ns + s->elapsed_ns) / NS_PER_MS,
        .has_status = s->has_target && !s->target_count && how->ended && !how->unknown,
        .is_signal = how->signaled,
        .status = how->status,
    };
}

size_t run_end_facts(const struct run_end *e, struct run_fact ret[RUN_FACTS_AT_MOST])
{
    size_t count = 0;
    if (!e->time_ms)
        return 0;
    ret[count++] = (struct run_fact){"end_time_seconds", "End of the run, since 1970", e->time_ms,
                                     3};
    if (e->has_status && e->is_signal)
        ret[count++] = (struct run_fact){"exit_signal", "The signal that ended the command",
                                         (uint64_t)e->status, 0};
    else if (e->has_status)
        ret[count++] = (struct run_fact){"exit_code", "The exit status of the command",
                                         (uint64_t)e->status, 0};
    return count;
}

double run_fact_value(const struct run_fact *f)
{
    double below = 1;
    for (unsigned i = 0; i < f->decimals; i++)
        below *= 10;
    return (double)f->number / below;
}

/* ==== Sink ==================================================================================== */

bool sink_writes_to(const struct sink *s, const char *path)
{
    struct stat x, y;
    return s->owns_fd && fstat(s->fd, &x) == 0 && stat(path, &y) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* ---- Slow readers ---------------------------------------------------------------------------- */

enum { WAITING_BYTES = 16 << 20 };

bool sink_has_waiting(const struct sink *s)
{
    return s->rest.length || s->waiting.first;
}

static int sink_write_stream(struct sink *s, const char *data, size_t length, size_t *ret_written)
{
    if (!s->has_stream)
        stream_open(&s->out, s->fd);
    s->has_stream = true;
    if (s->is_patient) {
        int r = stream_write_patiently(&s->out, data, length, -1);
        *ret_written = r == 0 ? length : 0;
        return r;
    }
    return stream_write(&s->out, data, length, ret_written);
}

/* The rest of a chunk comes before the next one. */
static int sink_write_queue(struct sink *s)
{
    for (;;) {
        size_t written;
        int r = sink_write_stream(s, s->rest.data, s->rest.length, &written);
        s->bytes += written;
        if (written && r < 0) {
            memmove(s->rest.data, s->rest.data + written, s->rest.length - written);
            s->rest.length -= written;
        }
        if (r < 0)
            return r;
        buf_clear(&s->rest);
        s->rest_samples = 0;
        if (!s->waiting.first)
            return 0;
        struct batch b = batch_take(&s->waiting, 1);
        buf_add(&s->rest, b.chunks[0].data, b.chunks[0].length);
        s->rest_samples = (unsigned)b.samples;
        queue_release(&s->waiting);
        if (buf_failed(&s->rest))
            return -ENOMEM;
    }
}

bool sink_write_waiting(struct sink *s, int timeout_ms)
{
    size_t before = s->waiting.bytes + s->rest.length;
    if (!sink_has_waiting(s) || !stream_wait(&s->out, timeout_ms))
        return false;
    int r = sink_write_queue(s);
    if (r < 0 && r != -EAGAIN) {
        sink_drop_waiting(s);
        s->failure = r;
    }
    return s->waiting.bytes + s->rest.length < before;
}

void sink_drop_waiting(struct sink *s)
{
    uint64_t chunks = s->rest.length > 0, samples = s->rest_samples;
    s->is_cut = s->rest.length > 0;
    while (s->waiting.first) {
        struct batch b = batch_take(&s->waiting, SIZE_MAX);
        chunks += b.count;
        samples += b.samples;
        queue_release(&s->waiting);
    }
    buf_clear(&s->rest);
    s->rest_samples = 0;
    s->dropped += chunks;
    s->chunks -= min_u64(chunks, s->chunks);
    s->missing += samples;
    if (chunks)
        s->failure = -EAGAIN;
}

/* When older samples had to be dropped, one of them counts as this one, which is reported as lost.
 */
static int sink_queue_chunk(struct sink *s, const struct chunk *p)
{
    uint64_t dropped = 0;
    if (!s->waiting.chunks && queue_init(&s->waiting, WAITING_BYTES) < 0)
        return -ENOMEM;
    int r = queue_add(&s->waiting, p, false, &dropped);
    uint64_t others = left_u64(dropped, r == 0);
    s->dropped += others;
    s->chunks -= min_u64(others, s->chunks);
    s->missing += others;
    return r == 0 && !dropped ? 0 : r == -ENOMEM ? r : -EAGAIN;
}

static int sink_write_whole(struct sink *s, const struct chunk *p)
{
    size_t half = 0;
    int r = s->is_cut ? -EAGAIN : sink_has_waiting(s) ? sink_write_queue(s) : 0;
    if (r < 0 && r != -EAGAIN)
        sink_drop_waiting(s); /* the reader is gone */
    if (r == 0)
        r = sink_write_stream(s, p->data, p->length, &half);
    if (r == 0) {
        s->bytes += p->length;
        return 0;
    }
    if (r == -EAGAIN && s->is_cut)
        return r;
    if (r == -EAGAIN && half) {
        s->bytes += half;
        buf_add(&s->rest, p->data + half, p->length - half);
        s->rest_samples = p->weight;
        return buf_failed(&s->rest) ? -ENOMEM : 0;
    }
    if (r == -EAGAIN)
        return sink_queue_chunk(s, p);
    /* A full disk may take half a chunk: cut it off, so that the file ends with a whole one. What
     * is at the end of a borrowed descriptor may be the work of other programs. */
    struct stat st;
    if (half && s->owns_fd && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) &&
        ftruncate(s->fd, st.st_size - (off_t)half) < 0)
        return r; /* the write is what failed */
    return r;
}

const char *sink_failure(const struct sink *s)
{
    return s->failure == -EAGAIN ? "destination too slow" : strerror(-s->failure);
}

/* Writes sink->text as a chunk, and empties it. */
static int sink_write_chunk(struct sink *s, enum chunk_kind kind)
{
    if (!s->text.length && !buf_failed(&s->text))
        return 0;
    unsigned samples = kind != CHUNK_FRAME ? 0 : s->folded ? s->folded : 1;
    struct chunk p = {kind, samples, s->text.data, s->text.length};
    int r = buf_failed(&s->text) ? -ENOMEM
            : s->sender          ? sender_put(s->sender, &p)
                                 : sink_write_whole(s, &p);
    if (s->sender && r == -ENOBUFS)
        r = 0; /* the sender counts it, and reports it once */
    if (r < 0) {
        s->failure = r;
        s->dropped++;
    } else {
        s->chunks++;
    }
    if (kind == CHUNK_FRAME)
        s->folded = 0;
    buf_clear(&s->text);
    return r;
}

/* A format with a summary alone is opened again at the end: until then there is no empty file. */
static bool sink_is_late(const struct sink *s)
{
    return s->owns_fd && (s->kind->writes_at_end || (!s->kind->begin && !s->kind->frame));
}

/* Empties a file, unless one more run is added to it. 0 or -errno. */
static int sink_empty_file(struct sink *s)
{
    struct stat st;
    if (s->flags & TOLL_OUTPUT_APPEND) {
        s->follows = fstat(s->fd, &st) == 0 && st.st_size > 0;
        return 0;
    }
    return ftruncate(s->fd, 0) < 0 && errno != EINVAL ? -errno : 0;
}

int sink_begin(struct sink *s, const struct run *run)
{
    s->run = run;
    int started = s->sender ? sender_start(s->sender) : 0;
    if (started < 0) {
        s->dropped++;
        return s->failure = started;
    }
    if (sink_is_late(s)) {
        if (s->made_file && !s->stays_open)
            output_file_remove(s->name, s->fd);
        if (s->kind->begin)
            s->kind->begin(s, run);
        return 0;
    }
    /* Only now that the command runs: a mistyped command does not destroy an older record. */
    int emptied = s->owns_fd && !s->sender ? sink_empty_file(s) : 0;
    if (emptied < 0)
        s->failure = emptied;
    if (s->kind->begin)
        s->kind->begin(s, run);
    return sink_write_chunk(s, CHUNK_BEGIN);
}

int sink_frame(struct sink *s, const struct frame *f)
{
    int r = 0;
    if (!s->kind->frame)
        return 0;
    if (s->kind->heading && !s->has_heading) { /* without it there are no figures */
        s->kind->heading(s, f);
        r = sink_write_chunk(s, CHUNK_HEADING);
        s->has_heading = r == 0;
    }
    if (r == 0) {
        s->kind->frame(s, f);
        r = sink_write_chunk(s, CHUNK_FRAME);
    }
    s->samples++;
    s->missing += r < 0;
    return r;
}

int sink_process_end(struct sink *s, const struct process_end *e)
{
    if (!s->kind->process_end)
        return 0;
    s->kind->process_end(s, e);
    return sink_write_chunk(s, CHUNK_PROCESS_END);
}

int sink_mark(struct sink *s, const struct run_mark *m)
{
    if (!s->kind->mark)
        return 0;
    s->kind->mark(s, m);
    return sink_write_chunk(s, CHUNK_MARK);
}

int sink_note(struct sink *s, uint64_t elapsed_ns, const char *sentence)
{
    if (!s->kind->note)
        return 0;
    s->kind->note(s, elapsed_ns, sentence);
    return sink_write_chunk(s, CHUNK_NOTE);
}

static int sink_open_late(struct sink *s)
{
    if (!s->stays_open) {
        if (s->has_stream)
            stream_close(&s->out);
        s->has_stream = false;
        close(s->fd);
        s->fd = output_file_open(s->name, NULL, NULL);
    }
    int r = s->fd < 0 ? s->fd : sink_empty_file(s);
    if (r < 0) {
        s->failure = r;
        s->dropped++;
    }
    return r;
}

int sink_summary(struct sink *s, const struct summary *summary)
{
    if (!s->kind->summary)
        return 0;
    int r = sink_is_late(s) ? sink_open_late(s) : 0;
    if (r < 0)
        return r;
    s->kind->summary(s, summary);
    r = sink_write_chunk(s, CHUNK_SUMMARY);
    if (r < 0 && sink_is_late(s) && s->made_file && !s->stays_open)
        output_file_remove(s->name, s->fd);
    return r;
}

/* ---- Senders --------------------------------------------------------------------------------- */

void sink_wait_for_room(struct sink *s, uint64_t no_progress_ns)
{
    s->is_patient = true;
    if (s->sender)
        sender_wait_for_room(s->sender, no_progress_ns);
}

void sink_flush(struct sink *s)
{
    if (s->sender)
        sender_flush(s->sender);
}

void sink_end(struct sink *s)
{
    if (s->sender)
        sender_end(s->sender, s->grace_ns);
}

bool sink_take_report(struct sink *s, char *ret, size_t capacity)
{
    return s->sender && sender_take_report(s->sender, ret, capacity);
}

pid_t sink_thread(const struct sink *s)
{
    return s->sender ? sender_thread(s->sender) : s->thread;
}

/* ---- Outcome, for the summary ---------------------------------------------------------------- */

static void sink_describe(const struct sink *s, struct output_summary *ret)
{
    ret->format = s->kind->format.name;
    ret->way = s->way;
    ret->bytes = s->bytes;
    ret->has_bytes = !s->kind->has_no_bytes;
    snprintf(ret->name, sizeof ret->name, "%s", s->name);
}

int sink_wait(struct sink *s, struct output_summary *ret)
{
    struct sender_counts c;
    bool came_back = sender_wait(s->sender);
    sender_count(s->sender, &c);
    *ret = (struct output_summary){
        .samples = c.accepted,
        .delivered = c.delivered,
        .kept = c.kept,
        .dropped = c.dropped + c.refused,
        .retries = c.retries,
        .is_whole = c.is_whole && came_back,
        .has_kept = c.has_kept,
        .has_nothing = !c.has_arrived,
    };
    sink_describe(s, ret);
    snprintf(ret->why, sizeof ret->why, "%s", c.why);
    if (!ret->is_whole)
        s->failure = -EIO;
    return s->failure;
}

bool sink_outcome(struct sink *s, struct output_summary *ret)
{
    if (!s->kind->frame || s->kind->writes_at_end) /* whether it can be written is not known yet */
        return false;
    *ret = (struct output_summary){
        .samples = s->samples,
        .delivered = s->samples - s->missing,
        .dropped = s->missing,
        .is_whole = !s->dropped && !s->failure,
    };
    sink_describe(s, ret);
    if (s->failure)
        snprintf(ret->why, sizeof ret->why, "%s", sink_failure(s));
    if (s->kind->outcome)
        s->kind->outcome(s, ret);
    return true;
}
