/* SPDX-License-Identifier: MIT */
#include "base/err.h"
#include "base/output_file.h"
#include "dialect/translation.h"
#include "sink/dialect_sink.h"
#include "sink/sink_choice.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

int sink_open_file(struct sink *s, const char *path, struct toll_error *e)
{
    struct stat st;
    s->owns_fd = true;
    s->fd = output_file_open(path, &s->made_file, e);
    if (s->fd < 0)
        return s->fd;
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

void sink_take_file(struct sink *s, const char *path)
{
    if (s->dialect)
        s->may_stay_empty |= dialect_choice_take_file(s->dialect, path);
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
        sink_take_file(s, o->destination);
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
    const char *behind = sink_options_behind(kind, text);
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
    } else {
        s->way = OUTPUT_STREAM;
        s->name = name_descriptor(output->fd);
        r = s->name ? 0 : err_set(e, -ENOMEM, "no memory for an output");
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
    if (s->has_stream)
        stream_close(&s->out);
    piece_queue_done(&s->waiting);
    if (s->owns_fd && s->fd >= 0) {
        if (s->made_file && (discard || (s->may_stay_empty && !s->pieces)))
            output_file_remove(s->name, s->fd);
        close(s->fd);
    }
    drop_dialect(s);
    sink_options_done(&s->settings);
    buf_done(&s->text);
    buf_done(&s->rest);
    free(s->place);
    free(s->name);
    free(s);
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

static const struct dialect_table *target_table(const struct sink *s)
{
    return s->dialect ? dialect_choice_table(s->dialect, s->kind->format.name, SUBJECT_TARGET)
                      : NULL;
}

bool sink_needs_system(const struct sink *s)
{
    const struct dialect_table *t = target_table(s);
    return t && dialect_table_needs_system(s->dialect, t);
}

bool sink_needs_rollup(const struct sink *s)
{
    const struct dialect_table *t = target_table(s);
    return t && dialect_table_needs_rollup(t);
}

bool sink_holds_one_run(const struct sink *s)
{
    const struct dialect_table *t = target_table(s);
    return s->kind->holds_one_run || (t && t->preface); /* what is said of all is of one */
}
