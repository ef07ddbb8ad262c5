/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"

#include "base/err.h"
#include "base/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void list_formats(struct buf *b)
{
    for (size_t i = 0; sink_kinds[i]; i++)
        buf_printf(b, "%s%s (%s)", i ? ", " : "", sink_kinds[i]->format.name,
                   sink_kinds[i]->format.suffix);
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t tail = strlen(suffix);
    return length > tail && strcmp(text + length - tail, suffix) == 0;
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

static int open_file(struct sink *s, const char *path, struct toll_error *e)
{
    struct stat st;
    s->made_file = stat(path, &st) < 0 && errno == ENOENT;
    s->owns_fd = true;
    s->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    if (s->fd < 0)
        return err_set(e, -errno, "cannot write to '%s': %s", path, strerror(errno));
    return 0;
}

int sink_open(struct sink **ret, const struct toll_output *output,
              const struct selection *selection, struct toll_error *e)
{
    const struct sink_kind *kind;
    int r = sink_choose(output->format, output->destination, &kind, e);
    if (r < 0)
        return r;
    struct sink *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, -ENOMEM, "no memory for an output");
    *s = (struct sink){.kind = kind, .fd = output->fd, .flags = output->flags};
    s->selection = *selection;
    s->name = strdup(output->destination ? output->destination : kind->format.name);
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
    buf_done(&s->text);
    free(s->name);
    free(s);
}

bool sink_same_file(const struct sink *a, const struct sink *b)
{
    struct stat x, y;
    return a->owns_fd && b->owns_fd && fstat(a->fd, &x) == 0 && fstat(b->fd, &y) == 0 &&
           S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A full disk may take half a piece: cut it off again, so that the file ends with a whole one. What
 * stands behind a borrowed descriptor may be others' work. */
static int write_whole(const struct sink *s)
{
    size_t half;
    int r = file_write_all(s->fd, s->text.data, s->text.length, &half);
    struct stat st;
    if (r < 0 && half && s->owns_fd && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) &&
        ftruncate(s->fd, st.st_size - (off_t)half) < 0)
        return r; /* it was the write that failed */
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

int sink_begin(struct sink *s, const struct run *run)
{
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

int sink_note(struct sink *s, uint64_t elapsed_ns, const char *sentence)
{
    if (!s->kind->note)
        return 0;
    s->kind->note(s, elapsed_ns, sentence);
    return write_piece(s);
}

int sink_summary(struct sink *s, const struct summary *summary)
{
    if (!s->kind->summary)
        return 0;
    s->kind->summary(s, summary);
    return write_piece(s);
}
