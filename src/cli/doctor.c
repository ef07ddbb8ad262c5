/* SPDX-License-Identifier: MIT
 * toll doctor: what can be measured here, by what, how exactly, and what would help. */
#include "base/text/buf.h"
#include "base/text/json.h"
#include "cli/options.h"

#include <string.h>

enum { WIDTH = 80, NAME_COLUMN = 8, TEXT_COLUMN = 20 };

struct request {
    const struct settings *settings;  /* borrowed; its words are the checks that are named */
    struct toll_diagnosis *diagnosis; /* owned */
};

static const struct state_words {
    const char *text;
    const char *json;
    const char *color;
} words[] = {
    [TOLL_CHECK_OK] = {"ok", "ok", "\033[32m"},
    [TOLL_CHECK_PARTLY] = {"partly", "partly", "\033[33m"},
    [TOLL_CHECK_MISSING] = {"no", "missing", "\033[31m"},
    [TOLL_CHECK_UNKNOWN] = {"?", "unknown", "\033[33m"},
};

/* ---- Which checks ---------------------------------------------------------------------------- */

/* The next check that was asked for, NULL after the last. */
static const struct toll_check *doctor_next_check(const struct request *r, size_t *at)
{
    const struct toll_check *c;
    while ((c = toll_diagnosis_at(r->diagnosis, (*at)++))) {
        const char **name = r->settings->words;
        while (name && *name && strcmp(*name, c->name) != 0)
            name++;
        if (!name || *name)
            return c;
    }
    return NULL;
}

/* 0, or 125 and a sentence when there is no check of a name. */
static int doctor_check_names(const char **names)
{
    for (; names && *names; names++) {
        struct buf known = {0};
        const struct toll_check *c;
        for (size_t i = 0; (c = toll_check_at(i)) && strcmp(c->name, *names) != 0; i++)
            buf_printf(&known, "%s%s", i ? ", " : "", c->name);
        int status = c ? 0
                       : complain("toll doctor checks nothing called '%s'; it checks %s", *names,
                                  known.data ? known.data : "nothing");
        buf_done(&known);
        if (status)
            return status;
    }
    return 0;
}

/* Unless it is named, what many machines do not have is not required. */
static bool doctor_is_satisfied(const struct request *r)
{
    const struct toll_check *c;
    for (size_t at = 0; (c = doctor_next_check(r, &at));)
        if (c->state != TOLL_CHECK_OK && (r->settings->words || c->essential))
            return false;
    return true;
}

/* ---- For people ------------------------------------------------------------------------------ */

/* Words, from column `at` of the line that is begun, broken before the width; later lines begin at
 * `indent`. `end` is put behind those that are broken; with one it is a
 * command, of which no word is cut. */
static void add_wrapped(struct buf *b, const char *text, size_t at, size_t indent, const char *end)
{
    bool is_first = true; /* of its line */
    while (*text) {
        size_t bytes = strcspn(text, " ");
        size_t needed = utf8_columns(text, bytes) + strlen(end);
        if (!is_first && at + 1 + needed > WIDTH) {
            buf_printf(b, "%s\n%*s", end, (int)indent, "");
            at = indent;
            is_first = true;
        }
        if (!is_first) {
            buf_putc(b, ' ');
            at++;
        }
        size_t shown = utf8_fitting(text, bytes, *end ? SIZE_MAX : WIDTH - at);
        buf_printable(b, text, shown);
        at += utf8_columns(text, shown);
        is_first = false;
        text += bytes;
        text += strspn(text, " ");
    }
    buf_putc(b, '\n');
}

static void doctor_command_add_mark(struct buf *b, const struct toll_check *c, bool color)
{
    const struct state_words *w = &words[c->state];
    size_t start = b->length;
    buf_puts(b, w->text);
    buf_pad(b, start, NAME_COLUMN);
    if (!color)
        return;
    struct buf plain = {0};
    buf_add(&plain, b->data + start, b->length - start);
    b->length = start;
    buf_printf(b, "%s%s\033[0m", w->color, plain.data ? plain.data : "");
    buf_done(&plain);
}

/* "Disks: /proc/diskstats; exact (1 real)"; where that is too long, and where something is missing,
 * what was found matters more than how. */
static void doctor_command_describe(struct buf *line, const struct toll_check *c)
{
    const char *semicolon = *c->quality ? "; " : "";
    bool is_ok = c->state == TOLL_CHECK_OK;
    if (is_ok || !*c->detail) {
        buf_printf(line, "%s: %s%s%s", c->title, c->means, semicolon, c->quality);
        if (*c->detail)
            buf_printf(line, " (%s)", c->detail);
        if (!*c->detail || utf8_columns(line->data, line->length) <= WIDTH - TEXT_COLUMN)
            return;
    }
    buf_clear(line);
    buf_printf(line, "%s: %s%s%s", c->title, c->detail, semicolon, c->quality);
}

/* The remedy is on the same line where there is room. */
static void add_check(struct buf *b, const struct toll_check *c, bool color)
{
    static const char arrow[] = " → ";
    struct buf line = {0};
    doctor_command_add_mark(b, c, color);
    size_t start = b->length;
    buf_puts(b, c->name);
    buf_pad(b, start, TEXT_COLUMN - NAME_COLUMN);
    doctor_command_describe(&line, c);
    size_t before = line.length;
    if (*c->remedy)
        buf_printf(&line, "%s%s", arrow, c->remedy);
    bool fits = utf8_columns(line.data, line.length) <= WIDTH - TEXT_COLUMN;
    if (!fits && line.data)
        line.data[before] = '\0';
    add_wrapped(b, line.data ? line.data : "", TEXT_COLUMN, TEXT_COLUMN, "");
    buf_done(&line);
    if (fits || !*c->remedy)
        return;
    buf_printf(b, "%*s%s", NAME_COLUMN - 1, "", arrow);
    add_wrapped(b, c->remedy, NAME_COLUMN + 2, NAME_COLUMN + 2, " \\");
}

static void doctor_command_as_text(const struct request *r, struct buf *b)
{
    const struct toll_check *c;
    bool color = color_is_wanted(STDOUT_FILENO, COLOR_AUTO);
    for (size_t at = 0; (c = doctor_next_check(r, &at));)
        add_check(b, c, color);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void doctor_command_put_text(struct json_out *j, const char *key, const char *text)
{
    if (*text) {
        json_put_string(j, key, text);
        return;
    }
    json_key(j, key);
    json_null(j);
}

static void doctor_command_as_json(const struct request *r, struct buf *b)
{
    const struct toll_check *c;
    struct json_out j;
    json_begin(&j, b, 2);
    json_object(&j);
    json_put_string(&j, "schema", "toll.doctor/1");
    json_put_string(&j, "toll", toll_version());
    json_put_bool(&j, "satisfied", doctor_is_satisfied(r));
    json_key(&j, "checks");
    json_array(&j);
    for (size_t at = 0; (c = doctor_next_check(r, &at));) {
        json_object(&j);
        json_put_string(&j, "name", c->name);
        json_put_string(&j, "title", c->title);
        json_put_string(&j, "state", words[c->state].json);
        json_put_bool(&j, "essential", c->essential);
        doctor_command_put_text(&j, "means", c->means);
        doctor_command_put_text(&j, "quality", c->quality);
        doctor_command_put_text(&j, "detail", c->detail);
        doctor_command_put_text(&j, "remedy", c->remedy);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    buf_putc(b, '\n');
}

/* ---- The command ----------------------------------------------------------------------------- */

void doctor_add_help(struct buf *b)
{
    const struct toll_check *c;
    buf_puts(b, "\nWHAT is any of\n");
    for (size_t i = 0; (c = toll_check_at(i)); i++) {
        size_t start = b->length;
        buf_printf(b, "    %c %s", c->essential ? '*' : ' ', c->name);
        buf_pad(b, start, TEXT_COLUMN);
        buf_printf(b, "%s\n", c->title);
    }
}

static int doctor_run(struct settings *s)
{
    struct request r = {.settings = s};
    struct toll_error e = {0};
    struct buf b = {0};
    int status = doctor_check_names(s->words);
    if (status == 0 && toll_diagnosis_new(&r.diagnosis, s->root, &e) < 0)
        status = complain("%s", e.message);
    if (status == 0) {
        (s->json ? doctor_command_as_json : doctor_command_as_text)(&r, &b);
        status = print(&b);
    }
    if (status == 0 && s->strict && !doctor_is_satisfied(&r))
        status = 1;
    toll_diagnosis_free(r.diagnosis);
    return status;
}

int doctor_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, SIZE_MAX, "", doctor_run);
}
