/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"

#include "base/err.h"
#include "base/file.h"
#include "dialect/translation.h"
#include "sink/dialect_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static void list_formats(struct buf *b)
{
    for (size_t i = 0; sink_kinds[i]; i++) {
        const struct toll_format *f = &sink_kinds[i]->format;
        buf_printf(b, "%s%s (%s%s%s)", i ? ", " : "", f->name, f->suffix, *f->suffix ? "" : f->name,
                   *f->suffix ? "" : ":");
    }
}

/* "csv:run.txt" */
static const struct sink_kind *kind_by_prefix(const char *destination, const char **ret_rest)
{
    for (size_t i = 0; sink_kinds[i]; i++) {
        size_t length = strlen(sink_kinds[i]->format.name);
        if (strncmp(destination, sink_kinds[i]->format.name, length) == 0 &&
            destination[length] == ':') {
            *ret_rest = destination + length + 1;
            return sink_kinds[i];
        }
    }
    return NULL;
}

static bool ends_like(const struct sink_kind *kind, const char *path, size_t length)
{
    size_t tail = strlen(kind->format.suffix);
    return tail && length > tail && strncmp(path + length - tail, kind->format.suffix, tail) == 0;
}

/* Where the options of a kind begin behind a path that ends with its suffix: "run.om,every=5s". A
 * path may have commas itself, so what is behind one should be an option; when none is, it was
 * meant to be. NULL: the suffix is nowhere. */
static const char *options_behind(const struct sink_kind *kind, const char *path)
{
    size_t length = strlen(path);
    for (unsigned sure = 2; sure--;) {
        for (const char *c = kind->options ? strchr(path, ',') : NULL; c; c = strchr(c + 1, ','))
            if (ends_like(kind, path, (size_t)(c - path)) &&
                (!sure || sink_options_begin_at(kind->options, c + 1)))
                return c;
        if (ends_like(kind, path, length))
            return path + length;
    }
    return NULL;
}

/* Options that are sure come before the end of all: "run.om,ca=x.csv". */
static const struct sink_kind *kind_by_path(const char *path)
{
    const struct sink_kind *found = NULL;
    for (size_t i = 0; sink_kinds[i]; i++) {
        const char *behind = options_behind(sink_kinds[i], path);
        bool is_sure = behind && *behind &&
                       sink_options_begin_at(sink_kinds[i]->options, behind + 1);
        if (is_sure || (behind && (!found || !*behind)))
            found = sink_kinds[i];
        if (is_sure)
            break;
    }
    return found;
}

/* As far as it may be said: behind the scheme of a URL there may be a password. */
static size_t harmless_length(const char *destination)
{
    const char *url = strstr(destination, "://");
    return url ? (size_t)(url - destination) + 3 : strlen(destination);
}

int sink_choose(const char *format, const char *destination, const struct sink_kind **ret,
                const char **ret_rest, struct toll_error *e)
{
    const char *rest = destination ? destination : "";
    const struct sink_kind *kind = format ? NULL : kind_by_prefix(rest, &rest);
    if (!format && !kind)
        kind = kind_by_path(rest);
    for (size_t i = 0; format && sink_kinds[i]; i++)
        if (strcmp(format, sink_kinds[i]->format.name) == 0)
            kind = sink_kinds[i];
    if (kind) {
        *ret = kind;
        *ret_rest = rest;
        return 0;
    }
    struct buf formats = {0};
    list_formats(&formats);
    if (format)
        err_set(e, -EINVAL, "'%s' is not a format; there are %s", format,
                formats.data ? formats.data : "none");
    else
        err_set(e, -EINVAL, "the name of '%.*s%s' does not tell a format; there are %s",
                (int)harmless_length(rest), rest, rest[harmless_length(rest)] ? "…" : "",
                formats.data ? formats.data : "none");
    buf_done(&formats);
    return -EINVAL;
}

/* Not blocking: a pipe that nobody reads must not hold up the job. */
static int open_path(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    return fd < 0 ? -errno : fd;
}

int sink_open_file(struct sink *s, const char *path, struct toll_error *e)
{
    struct stat st;
    s->made_file = stat(path, &st) < 0 && errno == ENOENT;
    s->owns_fd = true;
    s->fd = open_path(path);
    if (s->fd == -ENXIO)
        return err_set(e, s->fd, "cannot write to '%s': nobody reads from it", path);
    if (s->fd < 0)
        return err_set(e, s->fd, "cannot write to '%s': %s", path, strerror(-s->fd));
    if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) && flock(s->fd, LOCK_EX | LOCK_NB) < 0 &&
        errno == EWOULDBLOCK)
        return err_set(e, -EBUSY, "'%s' is being written by another toll", path);
    return 0;
}

/* What a descriptor is called in a sentence. */
static char *name_descriptor(int fd)
{
    char name[32];
    snprintf(name, sizeof name, "descriptor %d", fd);
    return strdup(fd == STDOUT_FILENO ? "stdout" : fd == STDERR_FILENO ? "stderr" : name);
}

static int check_flags(unsigned flags, struct toll_error *e)
{
    unsigned unknown = flags & ~(unsigned)(TOLL_OUTPUT_COLOR | TOLL_OUTPUT_VERBOSE);
    return unknown ? err_set(e, -EINVAL, "the flags of the output have 0x%x, which means nothing",
                             unknown)
                   : 0;
}

/* A path says by itself whether it can be written to. */
static int check_output(const struct toll_output *o, struct toll_error *e)
{
    int r = check_flags(o->flags, e);
    if (r < 0 || o->destination)
        return r;
    if (!o->format)
        return err_set(e, -EINVAL, "an output to a descriptor has no name to tell its format");
    return fcntl(o->fd, F_GETFD) < 0 ? err_set(e, -EBADF, "descriptor %d is not open", o->fd) : 0;
}

/* The format, in its dialect. *ret_rest as of sink_choose. */
static int choose_kind(struct sink *s, const struct toll_output *o, const char **ret_rest,
                       struct toll_error *e)
{
    int r = sink_choose(o->format, o->destination, &s->kind, ret_rest, e);
    if (r < 0 || !o->dialect)
        return r;
    s->dialect = calloc(1, sizeof *s->dialect);
    if (!s->dialect)
        return err_set(e, -ENOMEM, "no memory for a dialect");
    r = dialect_choice_parse(s->dialect, o->dialect, e);
    if (r == 0 && o->destination)
        dialect_choice_take_file(s->dialect, o->destination);
    return r < 0 ? r : sink_choose_dialect(s->kind, s->dialect, &s->kind, e);
}

static void drop_dialect(struct sink *s)
{
    if (s->dialect)
        dialect_choice_done(s->dialect);
    free(s->dialect);
    s->dialect = NULL;
}

/* The place and the options of a destination. Commas in a path that ends with the suffix of its
 * kind are its own; elsewhere they are doubled. */
static int read_destination(struct sink *s, const char *text, struct toll_error *e)
{
    const struct sink_kind *kind = s->kind;
    const char *behind = options_behind(kind, text);
    if (!behind)
        return sink_options_read(&s->settings, &s->place, kind->format.name, kind->options, text,
                                 e);
    s->place = strndup(text, (size_t)(behind - text));
    if (!s->place)
        return err_set(e, -ENOMEM, "no memory for an output");
    return sink_options_take(&s->settings, kind->format.name, kind->options, behind, e);
}

static enum delivery deliver(void *sink, const struct batch *b, struct attempt *a)
{
    struct sink *s = sink;
    return s->kind->deliver(s, b, a);
}

static enum delivery leave(void *sink, const struct batch *b, struct attempt *a)
{
    struct sink *s = sink;
    return s->kind->leave(s, b, a);
}

enum { BATCH_BYTES = 1 << 20 };

/* What the kind may change in its open(). */
static void make_plan(struct sink *s)
{
    s->grace_ns = sink_options_u64(&s->settings, "grace");
    s->plan = (struct courier_plan){
        .queue_bytes = sink_options_u64(&s->settings, "queue"),
        .gather_ns = sink_options_u64(&s->settings, "every"),
        .batch_bytes = BATCH_BYTES,
        .thread_name = "toll-sink",
        .deliver = deliver,
        .leave = s->kind->leave ? leave : NULL,
        .arg = s,
    };
}

static int open_place(struct sink *s, struct toll_error *e)
{
    int r = 0;
    if (!s->name)
        s->name = strdup(s->place);
    if (!s->name)
        return err_set(e, -ENOMEM, "no memory for an output");
    if (s->kind->deliver)
        make_plan(s);
    if (!s->kind->open)
        return sink_open_file(s, s->place, e);
    s->fd = -1;
    r = s->kind->open(s, e);
    if (r == 0 && s->plan.deliver && courier_new(&s->courier, &s->plan) < 0)
        r = err_set(e, -ENOMEM, "no memory for an output");
    return r;
}

int sink_open(struct sink **ret, const struct toll_output *output,
              const struct selection *selection, struct toll_error *e)
{
    const char *rest;
    int r = check_output(output, e);
    if (r < 0)
        return r;
    struct sink *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, -ENOMEM, "no memory for an output");
    *s = (struct sink){.fd = output->fd, .flags = output->flags, .selection = *selection};
    r = choose_kind(s, output, &rest, e);
    if (r == 0 && !output->destination && s->kind->open)
        r = err_set(e, -EINVAL, "%s goes to a place that is named, not to a descriptor",
                    s->kind->format.name);
    if (r < 0) {
        drop_dialect(s);
        free(s);
        return r;
    }
    if (output->destination) {
        s->fd = -1;
        r = read_destination(s, rest, e);
        if (r == 0)
            r = open_place(s, e);
    } else if (!(s->name = name_descriptor(output->fd))) {
        r = err_set(e, -ENOMEM, "no memory for an output");
    }
    if (r < 0) {
        sink_close(s, false);
        return r;
    }
    *ret = s;
    return 0;
}

void sink_close(struct sink *s, bool discard)
{
    if (!s)
        return;
    if (!courier_free(s->courier))
        return; /* somewhere in there is a thread that does not come back: all this is its own */
    s->courier = NULL;
    if (s->kind->close)
        s->kind->close(s); /* it may still use the descriptor */
    if (s->owns_fd && s->fd >= 0) {
        close(s->fd);
        if (s->made_file && (discard || (s->may_stay_empty && !s->pieces)))
            unlink(s->name);
    }
    drop_dialect(s);
    sink_options_done(&s->settings);
    buf_done(&s->text);
    buf_done(&s->rest);
    free(s->place);
    free(s->name);
    free(s);
}

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
    buf_clear(&s->text);
    if (r < 0) {
        s->failure = r;
        s->dropped++;
    } else {
        s->pieces++;
    }
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

int sink_frame(struct sink *s, const struct frame *f)
{
    if (!s->kind->frame)
        return 0;
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
        s->fd = open_path(s->name);
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

int sink_wait(struct sink *s, struct output_summary *ret)
{
    struct courier_counts c;
    bool came_back = courier_wait(s->courier);
    courier_count(s->courier, &c);
    *ret = (struct output_summary){
        .format = s->kind->format.name,
        .samples = c.taken,
        .delivered = c.delivered,
        .kept = c.kept,
        .dropped = c.dropped + c.refused,
        .retries = c.retries,
        .is_whole = c.is_whole && came_back,
        .has_kept = c.has_kept,
    };
    snprintf(ret->name, sizeof ret->name, "%s", s->name);
    snprintf(ret->why, sizeof ret->why, "%s", c.why);
    if (!ret->is_whole)
        s->failure = -EIO;
    return s->failure;
}

bool sink_says(struct sink *s, char *ret, size_t capacity)
{
    return s->courier && courier_says(s->courier, ret, capacity);
}

pid_t sink_thread(const struct sink *s)
{
    return s->courier ? courier_thread(s->courier) : s->thread;
}

int sink_report(struct buf *out, const struct toll_output *like, const struct selection *selection,
                const struct summary *summary, struct toll_error *e)
{
    struct toll_output o = {.format = like->format ? like->format : "", .dialect = like->dialect};
    struct sink s = {.fd = -1, .flags = like->flags, .selection = *selection};
    const char *rest;
    int r = check_flags(like->flags, e);
    if (r == 0)
        r = choose_kind(&s, &o, &rest, e);
    if (r == 0 && (!s.kind->summary || s.kind->frame || s.kind->deliver))
        r = err_set(e, -EINVAL, "'%s' is no format of a summary alone", o.format);
    if (r == 0)
        r = sink_check_subject(&s, summary->has_target, e);
    if (r == 0) {
        s.run = summary->run;
        s.kind->summary(&s, summary);
        if (s.kind->close)
            s.kind->close(&s);
        if (buf_failed(&s.text))
            r = err_set(e, -ENOMEM, "no memory for the summary");
        else
            buf_add(out, s.text.data, s.text.length);
    }
    buf_done(&s.text);
    drop_dialect(&s);
    return r;
}

int sink_check_subject(const struct sink *s, bool has_target, struct toll_error *e)
{
    if (!s->dialect || dialect_choice_table(s->dialect, s->kind->format.name,
                                            has_target ? SUBJECT_TARGET : SUBJECT_MACHINE))
        return 0;
    return err_set(e, -EINVAL, "the dialect %s is for %s", s->dialect->dialect->facts.name,
                   has_target ? "the whole machine, which 'toll system' measures"
                              : "processes, not for the whole machine");
}

bool sink_needs_system(const struct sink *s)
{
    const struct dialect_table *t =
        s->dialect ? dialect_choice_table(s->dialect, s->kind->format.name, SUBJECT_TARGET) : NULL;
    return t && dialect_table_needs_system(s->dialect, t);
}
