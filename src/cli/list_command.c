/* SPDX-License-Identifier: MIT
 * toll list: the runs in records. */
#include "base/json_out.h"
#include "base/signal_name.h"
#include "cli/help.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

struct list {
    struct buf text;
    struct json_out json;
    bool as_json;
    bool has_heading;
    const char *path;
};

/* ---- For programs ---------------------------------------------------------------------------- */

static void add_words(struct json_out *j, const char *key, const char *const *words)
{
    json_key(j, key);
    json_array(j);
    for (; *words; words++)
        json_string(j, *words);
    json_array_end(j);
}

static const char *status_word(const struct toll_end *end)
{
    if (!end->ended)
        return "running";
    return end->unknown ? "unknown" : end->signaled ? "signaled" : "exited";
}

static void add_json(struct list *l, const struct toll_run *r)
{
    struct json_out *j = &l->json;
    json_object(j);
    json_put_string(j, "record", l->path);
    json_put_u64(j, "run", r->number);
    json_put_utc(j, "start", r->start_ns);
    json_put_seconds(j, "wall_seconds", r->elapsed_ns);
    json_put_u64(j, "samples", r->samples);
    json_put_string(j, "status", status_word(&r->end));
    json_key(j, "code");
    if (r->end.ended && !r->end.unknown && !r->end.signaled)
        json_i64(j, r->end.status);
    else
        json_null(j);
    json_key(j, "signal");
    if (r->end.signaled)
        json_i64(j, r->end.status);
    else
        json_null(j);
    json_put_bool(j, "cut_short", r->cut_short);
    json_put_string(j, "name", r->name);
    add_words(j, "command", r->command);
    add_words(j, "labels", r->labels);
    json_put_string(j, "host", r->host);
    json_put_string(j, "toll", r->version);
    json_object_end(j);
}

/* ---- For people ------------------------------------------------------------------------------ */

enum { NUMBER = 4, START = 26, TIME = 12, SAMPLES = 9, STATUS = 14 };

/* Whatever others have written, it is for a terminal. */
static void add_foreign(struct buf *b, const char *text)
{
    for (; *text; text++)
        buf_putc(b, (unsigned char)*text < 0x20 || *text == 0x7F ? '?' : *text);
}

static void add_status(struct buf *b, const struct toll_run *r)
{
    const char *signal = r->end.signaled ? signal_name(r->end.status) : NULL;
    if (r->cut_short && r->end.ended)
        buf_puts(b, "cut short");
    else if (!r->end.ended || r->end.unknown)
        buf_puts(b, r->end.ended ? "ended" : "running");
    else if (signal)
        buf_printf(b, "SIG%s", signal);
    else
        buf_printf(b, "%s %d", r->end.signaled ? "signal" : "exit", r->end.status);
}

static void add_heading(struct list *l)
{
    struct buf *b = &l->text;
    if (!l->has_heading)
        buf_printf(b, "%*s  %-*s%*s%*s  %-*s%s\n", NUMBER, "run", START, "start", TIME, "time",
                   SAMPLES, "samples", STATUS, "status", "command");
    l->has_heading = true;
}

static void add_text(struct list *l, const struct toll_run *r)
{
    struct buf *b = &l->text;
    add_heading(l);
    buf_printf(b, "%*llu  ", NUMBER, (unsigned long long)r->number);
    size_t at = b->length;
    buf_utc(b, r->start_ns);
    buf_pad(b, at, START);
    at = b->length;
    buf_fixed(b, r->elapsed_ns / NS_PER_MS, 3);
    buf_puts(b, " s");
    buf_pad_left(b, at, TIME);
    buf_printf(b, "%*llu  ", SAMPLES, (unsigned long long)r->samples);
    at = b->length;
    add_status(b, r);
    buf_pad(b, at, STATUS);
    if (*r->name) {
        add_foreign(b, r->name);
        buf_puts(b, *r->command ? ":" : "");
    }
    for (const char *const *word = r->command; *word; word++) {
        buf_puts(b, " ");
        add_foreign(b, *word);
    }
    while (b->length && b->data[b->length - 1] == ' ')
        b->length--;
    buf_putc(b, '\n');
}

static void add_run(void *arg, const struct toll_run *r)
{
    struct list *l = arg;
    if (l->as_json)
        add_json(l, r);
    else
        add_text(l, r);
}

/* ---- The files ------------------------------------------------------------------------------- */

static int list_file(struct list *l, const char *path, bool with_name, struct toll_error *e)
{
    l->path = path;
    if (with_name && !l->as_json) {
        buf_puts(&l->text, l->text.length ? "\n" : "");
        add_foreign(&l->text, path);
        buf_puts(&l->text, ":\n");
        l->has_heading = false;
    }
    return toll_record_runs(path, add_run, l, e);
}

static int list_files(const struct settings *s)
{
    struct list l = {.as_json = s->json};
    struct toll_error e = {0};
    int r = 0;
    json_begin(&l.json, &l.text, 2);
    if (l.as_json)
        json_array(&l.json);
    for (const char **path = s->words; *path && r == 0; path++)
        r = list_file(&l, *path, s->words[1] != NULL, &e);
    if (l.as_json) {
        json_array_end(&l.json);
        buf_putc(&l.text, '\n');
    }
    if (r < 0) {
        buf_done(&l.text);
        return complain("%s", e.message);
    }
    return print(&l.text);
}

int list_main(int argc, char **argv)
{
    struct settings s = {0};
    struct toll_error e = {0};
    int rest, status;
    if (options_read(&s, argc, argv, &rest, &e) < 0)
        status = complain("%s", e.message);
    else if (s.help)
        status = help_subcommand(argv[0]);
    else if (!s.words)
        status = complain("toll list takes records: .jsonl and .sqlite files that toll has written");
    else
        status = list_files(&s);
    settings_done(&s);
    return status;
}
