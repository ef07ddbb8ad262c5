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
    for (size_t i = 0; sink_kinds[i]; i++)
        buf_printf(b, "%s%s (%s)", i ? ", " : "", sink_kinds[i]->format.name,
                   sink_kinds[i]->format.suffix);
}

int sink_choose(const char *format, const char *path, const struct sink_kind **ret,
                struct toll_error *e)
{
    for (size_t i = 0; sink_kinds[i]; i++) {
        const struct toll_format *f = &sink_kinds[i]->format;
        if (format ? strcmp(format, f->name) == 0 : path && ends_with(path, f->suffix)) {
            *ret = sink_kinds[i];
            return 0;
        }
    }
    struct buf formats = {0};
    list_formats(&formats);
    if (format)
        err_set(e, -EINVAL, "'%s' is not a format; there are %s", format,
                formats.data ? formats.data : "none");
    else
        err_set(e, -EINVAL, "the name of '%s' does not tell a format; there are %s",
                path ? path : "", formats.data ? formats.data : "none");
    buf_done(&formats);
    return -EINVAL;
}

/* Not blocking: a pipe that nobody reads must not hold up the job. */
static int open_path(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    return fd < 0 ? -errno : fd;
}

static int open_file(struct sink *s, const char *path, struct toll_error *e)
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

/* The format, in its dialect. */
static int choose_kind(struct sink *s, const struct toll_output *o, struct toll_error *e)
{
    int r = sink_choose(o->format, o->destination, &s->kind, e);
    if (r < 0 || !o->dialect)
        return r;
    s->dialect = calloc(1, sizeof *s->dialect);
    if (!s->dialect)
        return err_set(e, -ENOMEM, "no memory for a dialect");
    r = dialect_choice_parse(s->dialect, o->dialect, e);
    return r < 0 ? r : sink_choose_dialect(s->kind, s->dialect, &s->kind, e);
}

static void drop_dialect(struct sink *s)
{
    if (s->dialect)
        dialect_choice_done(s->dialect);
    free(s->dialect);
    s->dialect = NULL;
}

int sink_open(struct sink **ret, const struct toll_output *output,
              const struct selection *selection, struct toll_error *e)
{
    int r = check_output(output, e);
    if (r < 0)
        return r;
    struct sink *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, -ENOMEM, "no memory for an output");
    *s = (struct sink){.fd = output->fd, .flags = output->flags, .selection = *selection};
    r = choose_kind(s, output, e);
    if (r < 0) {
        drop_dialect(s);
        free(s);
        return r;
    }
    s->name = output->destination ? strdup(output->destination) : name_descriptor(output->fd);
    if (!s->name)
        r = err_set(e, -ENOMEM, "no memory for an output");
    else if (output->destination)
        r = open_file(s, output->destination, e);
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
    if (s->owns_fd && s->fd >= 0) {
        close(s->fd);
        if (discard && s->made_file)
            unlink(s->name);
    }
    if (s->kind->close)
        s->kind->close(s);
    drop_dialect(s);
    buf_done(&s->text);
    buf_done(&s->rest);
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

static int write_piece(struct sink *s)
{
    if (!s->text.length && !buf_failed(&s->text))
        return 0;
    int r = buf_failed(&s->text) ? -ENOMEM : write_whole(s);
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
    if (is_late(s)) {
        if (s->made_file && !s->stays_open)
            unlink(s->name);
        return 0;
    }
    /* Only now that the command runs: a record of before is not lost to a mistyped command. */
    if (s->owns_fd && ftruncate(s->fd, 0) < 0 && errno != EINVAL)
        s->failure = -errno;
    if (s->kind->begin)
        s->kind->begin(s, run);
    return write_piece(s);
}

int sink_frame(struct sink *s, const struct frame *f)
{
    if (!s->kind->frame)
        return 0;
    if (s->kind->heading && !s->has_heading) {
        s->kind->heading(s, f);
        int r = write_piece(s);
        if (r < 0)
            return r; /* figures without a heading say nothing: it is tried again */
        s->has_heading = true;
    }
    s->kind->frame(s, f);
    return write_piece(s);
}

int sink_process_end(struct sink *s, const struct process_end *e)
{
    if (!s->kind->process_end)
        return 0;
    s->kind->process_end(s, e);
    return write_piece(s);
}

int sink_mark(struct sink *s, const struct told_mark *m)
{
    if (!s->kind->mark)
        return 0;
    s->kind->mark(s, m);
    return write_piece(s);
}

int sink_note(struct sink *s, uint64_t elapsed_ns, const char *sentence)
{
    if (!s->kind->note)
        return 0;
    s->kind->note(s, elapsed_ns, sentence);
    return write_piece(s);
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
    r = write_piece(s);
    if (r < 0 && is_late(s) && s->made_file && !s->stays_open) /* a name may be another's by now */
        unlink(s->name);
    return r < 0 ? r : flush_rest(s);
}

int sink_report(struct buf *out, const struct toll_output *like, const struct selection *selection,
                const struct summary *summary, struct toll_error *e)
{
    struct toll_output o = {.format = like->format ? like->format : "", .dialect = like->dialect};
    struct sink s = {.fd = -1, .flags = like->flags, .selection = *selection};
    int r = check_flags(like->flags, e);
    if (r == 0)
        r = choose_kind(&s, &o, e);
    if (r == 0 && (!s.kind->summary || s.kind->frame))
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
