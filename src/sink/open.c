/* SPDX-License-Identifier: MIT */
#include "sink/open.h"

#include "base/err.h"
#include "base/io/output_file.h"
#include "base/text/scan.h"
#include "layout/translation.h"
#include "sink/layout.h"
#include "sink/sink.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* ==== Sinks =================================================================================== */

const struct sink_kind *const sink_kinds[] = {
    &sink_csv,         &sink_jsonl,        &sink_json,   &sink_text, &sink_lines,
    &sink_sqlite,      &sink_openmetrics,  &sink_mlflow, &sink_otlp, &sink_prometheus,
    &sink_pushgateway, &sink_sub_tracking, NULL,
};

/* ==== Sink options ============================================================================ */

/* The next part up to a single comma, with doubled ones made single, added to *b. *text is behind
 * the comma then, or at the end. */
static void cut_part(struct buf *b, const char **text)
{
    const char *c = *text;
    for (; *c; c++) {
        if (*c == ',' && c[1] != ',')
            break;
        c += *c == ',';
        buf_putc(b, *c);
    }
    *text = *c ? c + 1 : c;
}

static int sink_options_find(const struct sink_option *options, const char *name, size_t length)
{
    for (int i = 0; options && options[i].facts.name; i++)
        if (strlen(options[i].facts.name) == length &&
            strncmp(options[i].facts.name, name, length) == 0)
            return i;
    return -1;
}

bool sink_options_begin_at(const struct sink_option *options, const char *text)
{
    const char *equals = strchr(text, '=');
    return equals && sink_options_find(options, text, (size_t)(equals - text)) >= 0;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int sink_options_choose(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (int i = 0; *words; i++) {
        size_t this = strcspn(words, "|");
        if (this == length && strncmp(words, word, length) == 0)
            return i;
        words += this + (words[this] == '|');
    }
    return -1;
}

/* What a value of that kind looks like, for people. */
static const char *sink_options_accepted(const struct sink_option *o)
{
    switch (o->kind) {
    case OPTION_DURATION: return "a time such as 500ms, 10s or 2m";
    case OPTION_SIZE: return "a size such as 4096, 64K or 16MiB";
    case OPTION_QUEUE: return "a size from 4K on, such as 64K or 16MiB";
    case OPTION_NUMBER: return "a number";
    case OPTION_TEXT: return "something that is not empty";
    case OPTION_WORD: return o->facts.value;
    }
    return "";
}

enum { QUEUE_AT_LEAST = 4096 }; /* a sample has to fit */

static int sink_options_set(struct sink_settings *s, int i, const char *text)
{
    const struct sink_option *o = &s->options[i];
    struct scan number = scan_string(text);
    int word;
    switch (o->kind) {
    case OPTION_DURATION:
        if (scan_duration(text, &s->values[i].u) < 0)
            return -EINVAL;
        break;
    case OPTION_SIZE:
    case OPTION_QUEUE:
        if (scan_size(text, &s->values[i].u) < 0 ||
            (o->kind == OPTION_QUEUE && s->values[i].u < QUEUE_AT_LEAST))
            return -EINVAL;
        break;
    case OPTION_NUMBER:
        if (!scan_number(&number, &s->values[i].d) || !scan_done(&number))
            return -EINVAL;
        break;
    case OPTION_TEXT:
        if (!*text)
            return -EINVAL;
        break;
    case OPTION_WORD:
        if ((word = sink_options_choose(o->facts.value, text)) < 0)
            return -EINVAL;
        s->values[i].u = (uint64_t)word;
        break;
    }
    struct buf all = {0};
    if (o->repeats && s->values[i].is_given)
        buf_printf(&all, "%s\n", s->values[i].text);
    buf_puts(&all, text);
    if (buf_failed(&all)) {
        buf_done(&all);
        return -ENOMEM;
    }
    free(s->values[i].text);
    s->values[i].text = all.data;
    return 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* What may be an option that was mistyped is said again; anything else may be half a password. */
static bool is_like_a_name(const struct sink_option *options, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!(text[i] >= 'a' && text[i] <= 'z') && !strchr("-_", text[i]))
            return false;
    return length && (text[length] == '=' || sink_options_find(options, text, length) >= 0);
}

static int sink_options_unknown(const char *kind_name, const struct sink_option *options,
                                const char *part, struct toll_error *e)
{
    struct buf names = {0};
    for (int i = 0; options && options[i].facts.name; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", options[i].facts.name);
    size_t length = strcspn(part, "="); /* its value may be a secret */
    const char *there = names.data ? names.data : "none";
    int r = is_like_a_name(options, part, length)
                ? err_set(e, -EINVAL,
                          "%s has no option '%.*s'; there are %s (a comma that is meant is "
                          "written twice)",
                          kind_name, (int)length, part, there)
                : err_set(e, -EINVAL,
                          "what stands behind a comma of %s is no option, name=value; there are "
                          "%s (a comma that is meant is written twice)",
                          kind_name, there);
    buf_done(&names);
    return r;
}

static int take_one(struct sink_settings *s, const char *kind_name, const char *part,
                    struct toll_error *e)
{
    const char *equals = strchr(part, '=');
    int i = equals ? sink_options_find(s->options, part, (size_t)(equals - part)) : -1;
    if (i < 0)
        return sink_options_unknown(kind_name, s->options, part, e);
    const struct sink_option *o = &s->options[i];
    if (s->values[i].is_given && !o->repeats)
        return err_set(e, -EINVAL, "the option %s of %s is given twice", o->facts.name, kind_name);
    int r = sink_options_set(s, i, equals + 1);
    if (r == -ENOMEM)
        return err_set(e, r, "no memory for the options of %s", kind_name);
    if (r < 0)
        return err_set(e, r, "the option %s of %s takes %s, not '%s'", o->facts.name, kind_name,
                       sink_options_accepted(o), equals + 1);
    s->values[i].is_given = true;
    return 0;
}

static int take_defaults(struct sink_settings *s, const char *kind_name, struct toll_error *e)
{
    for (int i = 0; s->options && s->options[i].facts.name; i++) {
        const char *fallback = s->options[i].facts.fallback;
        int r = *fallback ? sink_options_set(s, i, fallback) : 0;
        if (r < 0)
            return err_set(e, r, "the option %s of %s has the wrong default '%s'",
                           s->options[i].facts.name, kind_name, fallback);
    }
    return 0;
}

int sink_options_take(struct sink_settings *ret, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e)
{
    *ret = (struct sink_settings){.options = options};
    int r = take_defaults(ret, kind_name, e);
    text += *text == ',';
    while (r == 0 && *text) {
        struct buf part = {0};
        cut_part(&part, &text);
        r = buf_failed(&part) ? err_set(e, -ENOMEM, "no memory for the options of %s", kind_name)
                              : take_one(ret, kind_name, part.data ? part.data : "", e);
        buf_done(&part);
    }
    if (r < 0)
        sink_options_done(ret);
    return r;
}

int sink_options_read(struct sink_settings *ret, char **ret_place, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e)
{
    struct buf place = {0};
    if (options) {
        cut_part(&place, &text);
    } else {
        buf_puts(&place, text);
        text = "";
    }
    buf_puts(&place, "");
    char *copy = strdup(place.data ? place.data : "");
    bool failed = buf_failed(&place) || !copy;
    buf_done(&place);
    int r = failed ? err_set(e, -ENOMEM, "no memory for an output")
                   : sink_options_take(ret, kind_name, options, text, e);
    if (r < 0) {
        free(copy);
        return r;
    }
    *ret_place = copy;
    return 0;
}

void sink_options_done(struct sink_settings *s)
{
    for (int i = 0; i < SINK_OPTIONS_AT_MOST; i++)
        free(s->values[i].text);
    *s = (struct sink_settings){.options = s->options};
}

/* ---- Asking ---------------------------------------------------------------------------------- */

uint64_t sink_options_u64(const struct sink_settings *s, const char *name)
{
    int i = sink_options_find(s->options, name, strlen(name));
    return i < 0 ? 0 : s->values[i].u;
}

double sink_options_double(const struct sink_settings *s, const char *name)
{
    int i = sink_options_find(s->options, name, strlen(name));
    return i < 0 ? 0 : s->values[i].d;
}

const char *sink_options_text(const struct sink_settings *s, const char *name)
{
    int i = sink_options_find(s->options, name, strlen(name));
    return i < 0 ? NULL : s->values[i].text;
}

bool sink_options_has(const struct sink_settings *s, const char *name)
{
    int i = sink_options_find(s->options, name, strlen(name));
    return i >= 0 && s->values[i].is_given;
}

/* ==== Sink choice ============================================================================= */

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

static bool has_suffix(const char *path, size_t length, const char *suffix)
{
    size_t tail = suffix ? strlen(suffix) : 0;
    return tail && length > tail && strncmp(path + length - tail, suffix, tail) == 0;
}

static bool ends_like(const struct sink_kind *kind, const char *path, size_t length)
{
    for (const char *const *other = kind->other_suffixes; *other; other++)
        if (has_suffix(path, length, *other))
            return true;
    return has_suffix(path, length, kind->format.suffix);
}

/* What is behind a comma should be an option; when none is, it was meant to be. */
const char *sink_options_behind(const struct sink_kind *kind, const char *path)
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
        const char *behind = sink_options_behind(sink_kinds[i], path);
        bool is_sure = behind && *behind &&
                       sink_options_begin_at(sink_kinds[i]->options, behind + 1);
        if (is_sure || (behind && (!found || !*behind)))
            found = sink_kinds[i];
        if (is_sure)
            break;
    }
    return found;
}

/* "run.csv,every=1s" of a kind that has no options: whoever writes that means no file. */
static bool has_vain_options(const struct sink_kind *kind, const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_-";
    if (kind->options || ends_like(kind, path, strlen(path)))
        return false;
    for (const char *c = strchr(path, ','); c; c = strchr(c + 1, ',')) {
        size_t name = strspn(c + 1, letters);
        if (name && c[1 + name] == '=' && ends_like(kind, path, (size_t)(c - path)))
            return true;
    }
    return false;
}

static const struct sink_kind *kind_with_vain_options(const char *path)
{
    for (size_t i = 0; sink_kinds[i]; i++)
        if (has_vain_options(sink_kinds[i], path))
            return sink_kinds[i];
    return NULL;
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
    const struct sink_kind *in_vain = !kind                          ? kind_with_vain_options(rest)
                                      : has_vain_options(kind, rest) ? kind
                                                                     : NULL;
    if (in_vain)
        return err_set(
            e, -EINVAL,
            "%s has no options, and behind the comma stands one; a path with commas ends "
            "with %s",
            in_vain->format.name, in_vain->format.suffix);
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

/* ==== Sink open =============================================================================== */

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
static int sink_open_check_output(const struct toll_output *o, struct toll_error *e)
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
    if (s->layout)
        s->may_stay_empty |= layout_choice_take_file(s->layout, path);
}

/* The format, in its layout. *ret_rest as of sink_choose. */
static int choose_kind(struct sink *s, const struct toll_output *o, const char **ret_rest,
                       struct toll_error *e)
{
    int r = sink_choose(o->format, o->destination, &s->kind, ret_rest, e);
    if (r < 0 || !o->layout)
        return r;
    s->layout = calloc(1, sizeof *s->layout);
    if (!s->layout)
        return err_set(e, -ENOMEM, "no memory for a dialect");
    r = layout_choice_parse(s->layout, o->layout, e);
    if (r == 0 && o->destination)
        sink_take_file(s, o->destination);
    return r < 0 ? r : sink_choose_layout(s->kind, s->layout, &s->kind, e);
}

static void drop_layout(struct sink *s)
{
    if (s->layout)
        layout_choice_done(s->layout);
    free(s->layout);
    s->layout = NULL;
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

static enum delivery sink_open_deliver(void *sink, const struct batch *b, struct attempt *a)
{
    struct sink *s = sink;
    return s->kind->deliver(s, b, a);
}

static enum delivery sink_open_leave(void *sink, const struct batch *b, struct attempt *a)
{
    struct sink *s = sink;
    return s->kind->leave(s, b, a);
}

enum { BATCH_BYTES = 1 << 20 };

/* What the kind may change in its open(). */
static void make_plan(struct sink *s)
{
    s->grace_ns = sink_options_u64(&s->settings, "grace");
    s->plan = (struct sender_plan){
        .queue_bytes = sink_options_u64(&s->settings, "queue"),
        .gather_ns = sink_options_u64(&s->settings, "every"),
        .batch_bytes = BATCH_BYTES,
        .thread_name = "toll-sink",
        .deliver = sink_open_deliver,
        .leave = s->kind->leave ? sink_open_leave : NULL,
        .arg = s,
    };
}

static int sink_open_open_place(struct sink *s, struct toll_error *e)
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
    if (r == 0 && s->plan.deliver && sender_new(&s->sender, &s->plan) < 0)
        r = err_set(e, -ENOMEM, "no memory for an output");
    return r;
}

int sink_open(struct sink **ret, const struct toll_output *output,
              const struct selection *selection, struct toll_error *e)
{
    const char *rest;
    int r = sink_open_check_output(output, e);
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
        drop_layout(s);
        free(s);
        return r;
    }
    if (output->destination) {
        s->fd = -1;
        r = read_destination(s, rest, e);
        if (r == 0)
            r = sink_open_open_place(s, e);
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
    if (!sender_free(s->sender))
        return; /* somewhere in there is a thread that does not come back: all this is its own */
    s->sender = NULL;
    if (s->kind->close)
        s->kind->close(s); /* it may still use the descriptor */
    if (s->has_stream)
        stream_close(&s->out);
    chunk_queue_done(&s->waiting);
    if (s->owns_fd && s->fd >= 0) {
        if (s->made_file && (discard || (s->may_stay_empty && !s->chunks)))
            output_file_remove(s->name, s->fd);
        close(s->fd);
    }
    drop_layout(s);
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
    struct toll_output o = {.format = like->format ? like->format : "", .layout = like->layout};
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
    drop_layout(&s);
    return r;
}

int sink_check_subject(const struct sink *s, bool has_target, struct toll_error *e)
{
    if (!s->layout || layout_choice_table(s->layout, s->kind->format.name,
                                          has_target ? SUBJECT_TARGET : SUBJECT_MACHINE))
        return 0;
    return err_set(e, -EINVAL, "the dialect %s is for %s", s->layout->layout->facts.name,
                   has_target ? "the whole machine, which 'toll system' measures"
                              : "processes, not for the whole machine");
}

static const struct layout_table *target_table(const struct sink *s)
{
    return s->layout ? layout_choice_table(s->layout, s->kind->format.name, SUBJECT_TARGET) : NULL;
}

bool sink_needs_system(const struct sink *s)
{
    const struct layout_table *t = target_table(s);
    return t && layout_table_needs_system(s->layout, t);
}

bool sink_needs_rollup(const struct sink *s)
{
    const struct layout_table *t = target_table(s);
    return t && layout_table_needs_rollup(t);
}

bool sink_holds_one_run(const struct sink *s)
{
    const struct layout_table *t = target_table(s);
    return s->kind->holds_one_run || (t && t->preface); /* what is said of all is of one */
}
