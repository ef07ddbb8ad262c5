/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"
#include "sink/spool.h"

#include "base/err.h"
#include "base/io/output_file.h"
#include "base/text/scan.h"
#include "layout/translation.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

const struct sink_kind *const sink_kinds[] = {
    &sink_csv,        &sink_jsonl,       &sink_json,         &sink_text,     &sink_lines,
    &sink_status,     &sink_sqlite,      &sink_openmetrics,  &sink_mlflow,   &sink_otlp,
    &sink_prometheus, &sink_pushgateway, &sink_sub_tracking, &sink_html,     &sink_markdown,
    &sink_svg,        &sink_hyperfine,   &sink_junit,        &sink_jobstats, NULL,
};

/* ==== Sink options ============================================================================ */

/* Adds the part up to the next single comma to *b, doubled commas made single, and moves *text
 * after that comma, or to the end. */
static void sink_options_cut(struct buf *b, const char **text)
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

/* What a value looks like, for error messages. */
static const char *sink_options_accepted(const struct sink_option *o)
{
    switch (o->kind) {
    case OPTION_DURATION: return "a time such as 500ms, 10s or 2m";
    case OPTION_SIZE: return "a size such as 4096, 64K or 16MiB";
    case OPTION_QUEUE: return "a size of at least 4K, such as 64K or 16MiB";
    case OPTION_TEXT: return "a value that is not empty";
    case OPTION_WORD: return o->facts.value;
    }
    return "";
}

enum { QUEUE_AT_LEAST = 4096 }; /* a sample has to fit */

static int sink_options_set(struct sink_settings *s, int i, const char *text)
{
    const struct sink_option *o = &s->options[i];
    const char *words = o->facts.value;
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
    case OPTION_TEXT:
        if (!*text)
            return -EINVAL;
        break;
    case OPTION_WORD:
        for (s->values[i].u = 0; *words; s->values[i].u++) {
            size_t length = strcspn(words, "|");
            if (strlen(text) == length && strncmp(words, text, length) == 0)
                break;
            words += length + (words[length] == '|');
        }
        if (!*words)
            return -EINVAL;
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

/* Only a part that looks like a mistyped option is quoted: anything else may be half a password. */
static int sink_options_unknown(const char *kind_name, const struct sink_option *options,
                                const char *part, struct toll_error *e)
{
    struct buf names = {0};
    for (int i = 0; options && options[i].facts.name; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", options[i].facts.name);
    size_t length = strcspn(part, "="); /* its value may be a secret */
    bool is_like_a_name = strspn(part, "abcdefghijklmnopqrstuvwxyz-_") >= length && length &&
                          (part[length] || sink_options_find(options, part, length) >= 0);
    const char *there = names.data ? names.data : "none";
    char typed[SUGGESTION_BYTES];
    struct suggestion near;
    snprintf(typed, sizeof typed, "%.*s", (int)length, part);
    suggestion_begin(&near, typed);
    for (int i = 0; options && options[i].facts.name; i++)
        suggestion_offer(&near, options[i].facts.name);
    int r = is_like_a_name ? err_set(e, -EINVAL,
                                     "%s: unknown option '%.*s'%s; known options: %s (write "
                                     "\",,\" for a comma in a value)",
                                     kind_name, (int)length, part, suggestion_text(&near), there)
                           : err_set(e, -EINVAL,
                                     "%s: expected \",name=value\"; known options: %s (write "
                                     "\",,\" for a comma in a value)",
                                     kind_name, there);
    buf_done(&names);
    return r;
}

static int sink_options_take_one(struct sink_settings *s, const char *kind_name, const char *part,
                                 struct toll_error *e)
{
    const char *equals = strchr(part, '=');
    int i = equals ? sink_options_find(s->options, part, (size_t)(equals - part)) : -1;
    if (i < 0)
        return sink_options_unknown(kind_name, s->options, part, e);
    const struct sink_option *o = &s->options[i];
    if (s->values[i].is_given && !o->repeats)
        return err_set(e, -EINVAL, "%s: option %s is given twice", kind_name, o->facts.name);
    int r = sink_options_set(s, i, equals + 1);
    if (r == -ENOMEM)
        return err_set(e, r, "%s: out of memory", kind_name);
    if (r < 0)
        return err_set(e, r, "%s: invalid %s '%s' (expected %s)", kind_name, o->facts.name,
                       equals + 1, sink_options_accepted(o));
    s->values[i].is_given = true;
    return 0;
}

int sink_options_take(struct sink_settings *ret, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e)
{
    *ret = (struct sink_settings){.options = options};
    int r = 0;
    for (int i = 0; r == 0 && options && options[i].facts.name; i++) {
        const char *fallback = options[i].facts.fallback;
        if (*fallback && (r = sink_options_set(ret, i, fallback)) < 0)
            err_set(e, r, "%s: invalid default '%s' of option %s", kind_name, fallback,
                    options[i].facts.name);
    }
    text += *text == ',';
    while (r == 0 && *text) {
        struct buf part = {0};
        sink_options_cut(&part, &text);
        r = buf_failed(&part)
                ? err_set(e, -ENOMEM, "%s: out of memory", kind_name)
                : sink_options_take_one(ret, kind_name, part.data ? part.data : "", e);
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
        sink_options_cut(&place, &text);
    } else {
        buf_puts(&place, text);
        text = "";
    }
    buf_puts(&place, "");
    char *copy = strdup(place.data ? place.data : "");
    bool failed = buf_failed(&place) || !copy;
    buf_done(&place);
    int r = failed ? err_set(e, -ENOMEM, "cannot open the output: out of memory")
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

uint64_t sink_options_u64(const struct sink_settings *s, const char *name)
{
    int i = sink_options_find(s->options, name, strlen(name));
    return i < 0 ? 0 : s->values[i].u;
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

/* ==== Choice of a format ====================================================================== */

/* "csv:run.txt" */
static const struct sink_kind *sink_kind_by_prefix(const char *destination, const char **ret_rest)
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

/* Whether the first bytes of a path end with a suffix of the kind. */
static bool sink_kind_has_suffix(const struct sink_kind *kind, const char *path, size_t length)
{
    const char *const *other = kind->other_suffixes;
    for (const char *suffix = kind->format.suffix; suffix; suffix = *other++) {
        size_t tail = strlen(suffix);
        if (tail && length > tail && strncmp(path + length - tail, suffix, tail) == 0)
            return true;
    }
    return false;
}

/* A comma followed by an option wins over one that is not. */
const char *sink_options_start(const struct sink_kind *kind, const char *path)
{
    size_t length = strlen(path);
    for (unsigned sure = 2; sure--;) {
        for (const char *c = kind->options ? strchr(path, ',') : NULL; c; c = strchr(c + 1, ','))
            if (sink_kind_has_suffix(kind, path, (size_t)(c - path)) &&
                (!sure || sink_options_begin_at(kind->options, c + 1)))
                return c;
        if (sink_kind_has_suffix(kind, path, length))
            return path + length;
    }
    return NULL;
}

/* A suffix followed by an option wins over one at the end: "run.om,ca=x.csv". */
static const struct sink_kind *sink_kind_by_path(const char *path)
{
    const struct sink_kind *found = NULL;
    for (size_t i = 0; sink_kinds[i]; i++) {
        const char *start = sink_options_start(sink_kinds[i], path);
        bool is_sure = start && *start && sink_options_begin_at(sink_kinds[i]->options, start + 1);
        if (is_sure || (start && (!found || !*start)))
            found = sink_kinds[i];
        if (is_sure)
            break;
    }
    return found;
}

/* "run.csv,every=1s" of a kind without options is a mistake, not a file name. */
static bool sink_kind_has_vain_options(const struct sink_kind *kind, const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_-";
    if (kind->options || sink_kind_has_suffix(kind, path, strlen(path)))
        return false;
    for (const char *c = strchr(path, ','); c; c = strchr(c + 1, ',')) {
        size_t name = strspn(c + 1, letters);
        if (name && c[1 + name] == '=' && sink_kind_has_suffix(kind, path, (size_t)(c - path)))
            return true;
    }
    return false;
}

int sink_choose(const char *format, const char *destination, const struct sink_kind **ret,
                const char **ret_rest, struct toll_error *e)
{
    const char *rest = destination ? destination : "";
    const struct sink_kind *kind = format ? NULL : sink_kind_by_prefix(rest, &rest);
    if (!format && !kind)
        kind = sink_kind_by_path(rest);
    for (size_t i = 0; format && sink_kinds[i]; i++)
        if (strcmp(format, sink_kinds[i]->format.name) == 0)
            kind = sink_kinds[i];
    const struct sink_kind *in_vain = kind;
    for (size_t i = 0; !kind && sink_kinds[i] && !in_vain; i++)
        in_vain = sink_kind_has_vain_options(sink_kinds[i], rest) ? sink_kinds[i] : NULL;
    if (in_vain && sink_kind_has_vain_options(in_vain, rest))
        return err_set(e, -EINVAL, "%s has no options (a path with commas must end with %s)",
                       in_vain->format.name, in_vain->format.suffix);
    if (kind) {
        *ret = kind;
        *ret_rest = rest;
        return 0;
    }
    /* Of a URL only the scheme is quoted: it may have a password. */
    const char *url = strstr(rest, "://");
    size_t quoted = url ? (size_t)(url - rest) + 3 : strlen(rest);
    struct buf formats = {0};
    struct suggestion near; /* to "jsonl:" or ".jsonl" */
    const char *colon = strchr(rest, ':'), *dot = strrchr(rest, '.');
    char typed[SUGGESTION_BYTES];
    snprintf(typed, sizeof typed, "%.*s", colon ? (int)(colon + 1 - rest) : INT_MAX,
             colon ? rest
             : dot ? dot
                   : "");
    suggestion_begin(&near, typed);
    for (size_t i = 0; sink_kinds[i]; i++) {
        const struct toll_format *f = &sink_kinds[i]->format;
        buf_printf(&formats, "%s%s", i ? ", " : "", f->name);
        char front[SUGGESTION_BYTES];
        snprintf(front, sizeof front, "%s:", f->name);
        suggestion_offer(&near, colon ? front : f->suffix);
    }
    if (!format && *suggestion_text(&near) && strcmp(near.word, typed) != 0)
        err_set(e, -EINVAL, "cannot determine the output type of '%.*s%s' from its name%s",
                (int)quoted, rest, rest[quoted] ? "…" : "", suggestion_text(&near));
    else if (format)
        err_set(e, -EINVAL, "unknown output type '%s' (expected one of: %s)", format,
                formats.data ? formats.data : "none");
    else
        err_set(
            e, -EINVAL,
            "cannot determine the output type of '%.*s%s' from its name (expected .csv, .jsonl, "
            ".json, .txt, .sqlite, .html or a prefix such as csv:; 'toll outputs' lists all)",
            (int)quoted, rest, rest[quoted] ? "…" : "");
    buf_done(&formats);
    return -EINVAL;
}

/* ==== Opening ================================================================================= */

int sink_open_file(struct sink *s, const char *path, struct toll_error *e)
{
    struct stat st;
    s->owns_fd = true;
    s->fd = output_file_open(path, &s->made_file, e);
    if (s->fd < 0)
        return s->fd;
    if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) && flock(s->fd, LOCK_EX | LOCK_NB) < 0 &&
        errno == EWOULDBLOCK)
        return err_set(e, -EBUSY, "cannot write to '%s': in use by another toll process", path);
    return 0;
}

static int sink_check_flags(unsigned flags, struct toll_error *e)
{
    unsigned unknown = flags & ~(unsigned)(TOLL_OUTPUT_COLOR | TOLL_OUTPUT_VERBOSE |
                                           TOLL_OUTPUT_ASCII | TOLL_OUTPUT_HINTS |
                                           TOLL_OUTPUT_BYTES | TOLL_OUTPUT_SI | TOLL_OUTPUT_APPEND);
    return unknown
               ? err_set(e, -EINVAL, "flags: unknown bits 0x%x (expected TOLL_OUTPUT_…)", unknown)
               : 0;
}

void sink_take_file(struct sink *s, const char *path)
{
    if (s->layout)
        s->may_stay_empty |= layout_choice_take_file(s->layout, path);
}

/* The format, in its layout. *ret_rest as of sink_choose. */
static int sink_choose_kind(struct sink *s, const struct toll_output *o, const char **ret_rest,
                            struct toll_error *e)
{
    int r = sink_choose(o->format, o->destination, &s->kind, ret_rest, e);
    if (r < 0 || !o->layout)
        return r;
    s->layout = calloc(1, sizeof *s->layout);
    if (!s->layout)
        return err_set(e, -ENOMEM, "cannot open the layout: out of memory");
    r = layout_choice_parse(s->layout, o->layout, e);
    if (r == 0 && o->destination)
        sink_take_file(s, o->destination);
    return r < 0 ? r : sink_choose_layout(s->kind, s->layout, &s->kind, e);
}

static void sink_free_layout(struct sink *s)
{
    if (s->layout)
        layout_choice_done(s->layout);
    free(s->layout);
    s->layout = NULL;
}

static enum delivery sink_open_deliver(void *sink, const struct batch *b, struct attempt *a)
{
    struct sink *s = sink;
    return s->spool ? spool_deliver(s->spool, b, a) : s->kind->deliver(s, b, a);
}

static enum delivery sink_open_leave(void *sink, const struct batch *b, struct attempt *a)
{
    struct sink *s = sink;
    return spool_leave(s->spool, b, a);
}

enum { BATCH_BYTES = 1 << 20 };

/* Commas in a path that ends with the suffix of its kind are part of the path; elsewhere they begin
 * options unless doubled. */
static int sink_open_destination(struct sink *s, const char *text, struct toll_error *e)
{
    const struct sink_kind *kind = s->kind;
    const char *start = sink_options_start(kind, text);
    int r = 0;
    s->fd = -1;
    if (start && !(s->place = strndup(text, (size_t)(start - text))))
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    r = start
            ? sink_options_take(&s->settings, kind->format.name, kind->options, start, e)
            : sink_options_read(&s->settings, &s->place, kind->format.name, kind->options, text, e);
    if (r < 0)
        return r;
    s->name = strdup(s->place);
    if (!s->name)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    if (!kind->open)
        return sink_open_file(s, s->place, e);
    if (kind->encode && (r = spool_new(&s->spool, s, e)) < 0)
        return r;
    if (kind->deliver || kind->encode) { /* open() may change it */
        s->grace_ns = sink_options_u64(&s->settings, "grace");
        s->plan = (struct sender_plan){
            .queue_bytes = sink_options_u64(&s->settings, "queue"),
            .gather_ns = sink_options_u64(&s->settings, "every"),
            .batch_bytes = BATCH_BYTES,
            .thread_name = "toll-sink",
            .deliver = sink_open_deliver,
            .leave = kind->encode ? sink_open_leave : NULL,
            .arg = s,
        };
    }
    r = kind->open(s, e);
    if (r == 0 && s->plan.deliver && sender_new(&s->sender, &s->plan) < 0)
        r = err_set(e, -ENOMEM, "cannot open the output: out of memory");
    return r;
}

int sink_open(struct sink **ret, const struct toll_output *output,
              const struct selection *selection, struct toll_error *e)
{
    const char *rest;
    int r = sink_check_flags(output->flags, e);
    if (r == 0 && !output->destination && !output->format)
        r = err_set(e, -EINVAL, "format: missing (expected one for an output to a descriptor)");
    if (r == 0 && !output->destination && fcntl(output->fd, F_GETFD) < 0)
        r = err_set(e, -EBADF, "descriptor %d is not open", output->fd);
    if (r < 0)
        return r;
    struct sink *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    *s = (struct sink){.fd = output->fd,
                       .flags = output->flags,
                       .text.units = output->flags & TOLL_OUTPUT_BYTES ? BYTES_PLAIN
                                     : output->flags & TOLL_OUTPUT_SI  ? BYTES_DECIMAL
                                                                       : BYTES_BINARY,
                       .columns = output->columns,
                       .selection = *selection};
    r = sink_choose_kind(s, output, &rest, e);
    if (r == 0 && !output->destination && s->kind->open)
        r = err_set(e, -EINVAL, "%s cannot write to a descriptor (expected a destination)",
                    s->kind->format.name);
    if (r < 0) {
        sink_free_layout(s);
        free(s);
        return r;
    }
    if (output->destination) {
        r = sink_open_destination(s, rest, e);
    } else {
        char name[32];
        int fd = output->fd;
        snprintf(name, sizeof name, "descriptor %d", fd);
        s->way = OUTPUT_STREAM;
        s->name = strdup(fd == STDOUT_FILENO ? "stdout" : fd == STDERR_FILENO ? "stderr" : name);
        r = s->name ? 0 : err_set(e, -ENOMEM, "cannot open the output: out of memory");
    }
    if (r == 0 && (output->flags & TOLL_OUTPUT_APPEND) && sink_holds_one_run(s))
        r = err_set(e, -EINVAL, "cannot append to '%s': %s holds one run", s->name,
                    s->kind->format.name);
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
        return; /* its thread is stuck in deliver() and still uses all of this */
    s->sender = NULL;
    if (s->kind->close)
        s->kind->close(s); /* it may still use the descriptor */
    if (s->has_stream)
        stream_close(&s->out);
    queue_done(&s->waiting);
    spool_free(s->spool);
    if (s->owns_fd && s->fd >= 0) {
        if (s->made_file && (discard || (s->may_stay_empty && !s->chunks)))
            output_file_remove(s->name, s->fd);
        close(s->fd);
    }
    sink_free_layout(s);
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
    int r = sink_check_flags(like->flags, e);
    if (r == 0)
        r = sink_choose_kind(&s, &o, &rest, e);
    if (r == 0 && (!s.kind->summary || s.kind->frame))
        r = err_set(e, -EINVAL, "format '%s' cannot write a summary alone", o.format);
    if (r == 0)
        r = sink_check_subject(&s, summary->has_target, e);
    if (r == 0) {
        s.run = summary->run;
        s.kind->summary(&s, summary);
        if (s.kind->close)
            s.kind->close(&s);
        if (buf_failed(&s.text))
            r = err_set(e, -ENOMEM, "cannot write the summary: out of memory");
        else
            buf_add(out, s.text.data, s.text.length);
    }
    buf_done(&s.text);
    sink_free_layout(&s);
    return r;
}

int sink_check_subject(const struct sink *s, bool has_target, struct toll_error *e)
{
    if (!s->layout || layout_choice_table(s->layout, s->kind->format.name,
                                          has_target ? SUBJECT_TARGET : SUBJECT_MACHINE))
        return 0;
    return err_set(e, -EINVAL, "layout %s is for %s", s->layout->layout->facts.name,
                   has_target ? "the whole machine (use 'toll system')"
                              : "processes, not the whole machine");
}

static const struct layout_table *sink_target_table(const struct sink *s)
{
    return s->layout ? layout_choice_table(s->layout, s->kind->format.name, SUBJECT_TARGET) : NULL;
}

bool sink_needs_system(const struct sink *s)
{
    const struct layout_table *t = sink_target_table(s);
    return t && layout_table_needs_system(s->layout, t);
}

bool sink_needs_rollup(const struct sink *s)
{
    const struct layout_table *t = sink_target_table(s);
    return t && layout_table_needs_rollup(t);
}

bool sink_holds_one_run(const struct sink *s)
{
    const struct layout_table *t = sink_target_table(s);
    return s->kind->holds_one_run || (t && t->preface); /* what is said of all is of one */
}
