/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"

#include "base/file.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool sink_writes_to(const struct sink *s, const char *path)
{
    struct stat x, y;
    return s->owns_fd && fstat(s->fd, &x) == 0 && stat(path, &y) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A full disk may take half a piece: cut it off again, so that the file ends with a whole one. What
 * stands behind a borrowed descriptor may be others' work. */
static void cut_off(const struct sink *s, size_t half)
{
    struct stat st;
    if (s->owns_fd && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) &&
        ftruncate(s->fd, st.st_size - (off_t)half) < 0)
        return; /* it was the write that failed */
}

/* Of a slow pipe, the rest of a piece goes before the next one. */
static int write_rest(struct sink *s)
{
    size_t written;
    int r = file_write_quietly(s->fd, s->rest.data, s->rest.length, &written);
    if (r < 0) {
        memmove(s->rest.data, s->rest.data + written, s->rest.length - written);
        s->rest.length -= written;
        return r;
    }
    buf_clear(&s->rest);
    return 0;
}

static int write_whole(struct sink *s)
{
    size_t half;
    int r = s->rest.length ? write_rest(s) : 0;
    if (r < 0)
        return r;
    r = file_write_quietly(s->fd, s->text.data, s->text.length, &half);
    if (r == -EAGAIN && half) {
        buf_add(&s->rest, s->text.data + half, s->text.length - half);
        return buf_failed(&s->rest) ? -ENOMEM : 0;
    }
    if (r < 0 && half)
        cut_off(s, half);
    return r;
}

/* What does not fit is counted by the courier, and told once, by it too. */
static int hand_over(struct sink *s, enum piece_of of)
{
    struct piece p = {of, of == PIECE_FRAME, s->text.data, s->text.length};
    int r = courier_put(s->courier, &p);
    return r == -ENOBUFS ? 0 : r;
}

static int write_piece(struct sink *s, enum piece_of of)
{
    if (!s->text.length && !buf_failed(&s->text))
        return 0;
    int r = buf_failed(&s->text) ? -ENOMEM : s->courier ? hand_over(s, of) : write_whole(s);
    if (r < 0) {
        s->failure = r;
        s->dropped++;
    } else {
        s->pieces++;
        s->bytes += s->courier ? 0 : s->text.length;
    }
    buf_clear(&s->text);
    return r;
}

/* A format that has only a summary is written at the end: until then nothing empty lies about. */
static bool is_late(const struct sink *s)
{
    return s->owns_fd && !s->kind->begin && !s->kind->frame;
}

int sink_begin(struct sink *s, const struct run *run)
{
    s->run = run;
    int started = s->courier ? courier_start(s->courier) : 0;
    if (started < 0) {
        s->dropped++;
        return s->failure = started;
    }
    if (is_late(s)) {
        if (s->made_file && !s->stays_open)
            unlink(s->name);
        return 0;
    }
    /* Only now that the command runs: a record of before is not lost to a mistyped command. */
    if (s->owns_fd && !s->courier && ftruncate(s->fd, 0) < 0 && errno != EINVAL)
        s->failure = -errno;
    if (s->kind->begin)
        s->kind->begin(s, run);
    return write_piece(s, PIECE_BEGIN);
}

static int write_frame(struct sink *s, const struct frame *f)
{
    if (s->kind->heading && !s->has_heading) {
        s->kind->heading(s, f);
        int r = write_piece(s, PIECE_HEADING);
        if (r < 0)
            return r; /* figures without a heading say nothing: it is tried again */
        s->has_heading = true;
    }
    s->kind->frame(s, f);
    return write_piece(s, PIECE_FRAME);
}

int sink_frame(struct sink *s, const struct frame *f)
{
    if (!s->kind->frame)
        return 0;
    int r = write_frame(s, f);
    s->samples++;
    s->missing += r < 0;
    return r;
}

int sink_process_end(struct sink *s, const struct process_end *e)
{
    if (!s->kind->process_end)
        return 0;
    s->kind->process_end(s, e);
    return write_piece(s, PIECE_PROCESS_END);
}

int sink_mark(struct sink *s, const struct told_mark *m)
{
    if (!s->kind->mark)
        return 0;
    s->kind->mark(s, m);
    return write_piece(s, PIECE_MARK);
}

int sink_note(struct sink *s, uint64_t elapsed_ns, const char *sentence)
{
    if (!s->kind->note)
        return 0;
    s->kind->note(s, elapsed_ns, sentence);
    return write_piece(s, PIECE_NOTE);
}

static int open_late(struct sink *s)
{
    if (!s->stays_open) {
        close(s->fd);
        s->fd = sink_open_path(s->name);
    }
    if (s->fd < 0 || (ftruncate(s->fd, 0) < 0 && errno != EINVAL)) {
        s->failure = s->fd < 0 ? s->fd : -errno;
        s->dropped++;
        return s->failure;
    }
    return 0;
}

/* A reader that is only slow gets this long for what is left. */
enum { LAST_WAIT_MS = 1000 };

static int flush_rest(struct sink *s)
{
    struct pollfd fd = {.fd = s->fd, .events = POLLOUT};
    int r;
    while (s->rest.length && poll(&fd, 1, LAST_WAIT_MS) > 0)
        if ((r = write_rest(s)) < 0 && r != -EAGAIN)
            break;
    if (!s->rest.length)
        return 0;
    s->dropped++;
    return s->failure = -EAGAIN;
}

int sink_summary(struct sink *s, const struct summary *summary)
{
    if (!s->kind->summary)
        return flush_rest(s);
    int r = is_late(s) ? open_late(s) : flush_rest(s);
    if (r < 0)
        return r;
    s->kind->summary(s, summary);
    r = write_piece(s, PIECE_SUMMARY);
    if (r < 0 && is_late(s) && s->made_file && !s->stays_open) /* a name may be another's by now */
        unlink(s->name);
    return r < 0 ? r : flush_rest(s);
}

/* ---- Couriers -------------------------------------------------------------------------------- */

void sink_wait_for_room(struct sink *s, uint64_t no_progress_ns)
{
    if (s->courier)
        courier_wait_for_room(s->courier, no_progress_ns);
}

void sink_flush(struct sink *s)
{
    if (s->courier)
        courier_flush(s->courier);
}

void sink_end(struct sink *s)
{
    if (s->courier)
        courier_end(s->courier, s->grace_ns);
}

bool sink_says(struct sink *s, char *ret, size_t capacity)
{
    return s->courier && courier_says(s->courier, ret, capacity);
}

pid_t sink_thread(const struct sink *s)
{
    return s->courier ? courier_thread(s->courier) : s->thread;
}
