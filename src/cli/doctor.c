/* SPDX-License-Identifier: MIT
 * toll doctor: what can be measured here, by which means, how exactly, and what would help. */
#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

enum { NAME_COLUMN = 8, TEXT_COLUMN = 20, LONGEST_WORD = 80 };

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

/* 0, or 125 and a message when there is no check of a name. */
static int doctor_check_names(const char **names)
{
    for (; names && *names; names++) {
        struct buf known = {0};
        struct suggestion near;
        const struct toll_check *c;
        suggestion_begin(&near, *names);
        for (size_t i = 0; (c = toll_check_at(i)) && strcmp(c->name, *names) != 0; i++) {
            buf_printf(&known, "%s%s", i ? ", " : "", c->name);
            suggestion_offer(&near, c->name);
        }
        const char *hint = suggestion_text(&near);
        int status = 0;
        if (!c && *hint)
            status = complain("doctor: unknown check '%s'%s", *names, hint);
        else if (!c)
            status = complain("doctor: unknown check '%s' (expected %s)", *names,
                              known.data ? known.data : "");
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
 * `indent`. `end` follows lines that are broken; with one the text is a command, of which no word
 * is cut. */
static void add_wrapped(struct buf *b, const char *text, size_t at, size_t indent, const char *end)
{
    bool is_first = true; /* of its line */
    while (*text) {
        size_t bytes = strcspn(text, " ");
        size_t needed = utf8_columns(text, bytes) + strlen(end);
        if (!is_first && at + 1 + needed > terminal_width()) {
            buf_printf(b, "%s\n%*s", end, (int)indent, "");
            at = indent;
            is_first = true;
        }
        if (!is_first) {
            buf_putc(b, ' ');
            at++;
        }
        size_t shown = utf8_fitting(text, bytes, *end ? SIZE_MAX : LONGEST_WORD - at);
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
 * what was found matters more than how. What is missing is not exact. */
static void doctor_command_describe(struct buf *line, const struct toll_check *c)
{
    const char *semicolon = *c->quality ? "; " : "";
    bool is_ok = c->state == TOLL_CHECK_OK;
    if (is_ok || !*c->detail) {
        buf_printf(line, "%s: %s%s%s", c->title, c->means, semicolon, c->quality);
        if (*c->detail)
            buf_printf(line, " (%s)", c->detail);
        if (!*c->detail || utf8_columns(line->data, line->length) <= terminal_width() - TEXT_COLUMN)
            return;
    }
    buf_clear(line);
    bool is_qualified = is_ok || strncmp(c->quality, "exact", 5) != 0;
    buf_printf(line, "%s: %s%s%s", c->title, c->detail, is_qualified ? semicolon : "",
               is_qualified ? c->quality : "");
}

/* A command that is broken continues with a backslash; other words do not. */
static const char *doctor_line_end(const char *remedy)
{
    return strpbrk(remedy, "|&>") ? " \\" : "";
}

/* The remedy is on the same line where there is room. */
static void add_check(struct buf *b, const struct toll_check *c, bool color, bool ascii)
{
    const char *arrow = ascii ? " -> " : " → ";
    struct buf line = {0};
    doctor_command_add_mark(b, c, color);
    size_t start = b->length;
    buf_puts(b, c->name);
    buf_pad(b, start, TEXT_COLUMN - NAME_COLUMN);
    doctor_command_describe(&line, c);
    size_t before = line.length;
    if (*c->remedy)
        buf_printf(&line, "%s%s", arrow, c->remedy);
    bool fits = utf8_columns(line.data, line.length) <= terminal_width() - TEXT_COLUMN;
    if (!fits && line.data)
        line.data[before] = '\0';
    add_wrapped(b, line.data ? line.data : "", TEXT_COLUMN, TEXT_COLUMN, "");
    buf_done(&line);
    if (fits || !*c->remedy)
        return;
    buf_printf(b, "%*s%s", NAME_COLUMN - 1, "", arrow);
    size_t at = NAME_COLUMN - 1 + utf8_columns(arrow, strlen(arrow));
    add_wrapped(b, c->remedy, at, at, doctor_line_end(c->remedy));
}

/* ---- Problems, by their causes ----------------------------------------------------------------
 */

static void doctor_add_fix(struct buf *b, const char *fix, bool ascii)
{
    enum { FIX_COLUMN = 4 };
    const char *arrow = ascii ? "-> " : "→ ";
    if (!*fix)
        return;
    buf_printf(b, "%*s%s", FIX_COLUMN, "", arrow);
    size_t at = FIX_COLUMN + utf8_columns(arrow, strlen(arrow));
    add_wrapped(b, fix, at, at, doctor_line_end(fix));
}

/* "Temperature, Energy: not available in a virtual machine", for all checks of the group that have
 * the same detail as its i-th. */
static void doctor_add_detail(struct buf *b, const struct toll_check *const *group, size_t count,
                              size_t i, bool color)
{
    const struct state_words *w = &words[group[i]->state];
    struct buf line = {0};
    for (size_t k = i; k < count; k++)
        if (strcmp(group[k]->detail, group[i]->detail) == 0)
            buf_printf(&line, "%s%s", line.length ? ", " : "", group[k]->title);
    buf_printf(&line, ": %s", *group[i]->detail ? group[i]->detail : w->json);
    buf_puts(b, "  ");
    size_t start = b->length;
    add_wrapped(b, line.data ? line.data : "", 2, 4, "");
    if (color && !buf_failed(b)) { /* the titles */
        buf_clear(&line);
        buf_add(&line, b->data + start, b->length - start);
        size_t titles = line.data ? strcspn(line.data, ":") : 0;
        b->length = start;
        buf_puts(b, w->color);
        buf_add(b, line.data, titles);
        buf_puts(b, "\033[0m");
        buf_puts(b, line.data ? line.data + titles : "");
    }
    buf_done(&line);
}

/* Each cause once, with one fix for all checks that it affects. */
static void doctor_add_problems(const struct request *r, struct buf *b, bool color, bool ascii)
{
    const struct toll_check *problems[64], *c;
    size_t count = 0;
    for (size_t at = 0; (c = doctor_next_check(r, &at)) && count < ARRAY_LEN(problems);)
        if (c->state != TOLL_CHECK_OK)
            problems[count++] = c;
    while (count) {
        const struct toll_check *group[ARRAY_LEN(problems)] = {problems[0]};
        size_t members = 1, left = 0;
        bool needs_root = problems[0]->needs_root;
        for (size_t i = 1; i < count; i++)
            /* One fix is for both. */
            if ((group[0]->needs_root && problems[i]->needs_root) ||
                (*group[0]->remedy && strcmp(group[0]->remedy, problems[i]->remedy) == 0)) {
                needs_root &= problems[i]->needs_root;
                group[members++] = problems[i];
            } else {
                problems[left++] = problems[i];
            }
        count = left;
        for (size_t i = 0; i < members; i++) {
            bool is_shown = false; /* with an earlier one */
            for (size_t k = 0; k < i; k++)
                is_shown |= strcmp(group[k]->detail, group[i]->detail) == 0;
            if (!is_shown)
                doctor_add_detail(b, group, members, i, color);
        }
        doctor_add_fix(b, members > 1 && needs_root ? "as root: sudo toll …" : group[0]->remedy,
                       ascii);
    }
}

/* The verdict, then what is wrong; all checks if they were asked for. */
static void doctor_command_as_text(const struct request *r, struct buf *b)
{
    struct toll_output out = {.fd = STDOUT_FILENO};
    terminal_describe(&out, COLOR_AUTO);
    bool color = out.flags & TOLL_OUTPUT_COLOR, ascii = out.flags & TOLL_OUTPUT_ASCII;
    bool is_chosen = r->settings->words != NULL;
    size_t count = 0, problems = 0, essential = 0;
    const struct toll_check *c;
    for (size_t at = 0; (c = doctor_next_check(r, &at)); count++) {
        problems += c->state != TOLL_CHECK_OK;
        essential += c->state != TOLL_CHECK_OK && c->essential;
    }
    char verdict[160] = "All checks passed.";
    const char *scope = is_chosen   ? ""
                        : essential ? "toll can measure jobs only in part here. "
                                    : "toll can measure jobs here. ";
    if (problems)
        snprintf(verdict, sizeof verdict, "%s%zu of %zu check%s found a limitation:", scope,
                 problems, count, count == 1 ? "" : "s");
    help_wrap(b, verdict, 0);
    if (is_chosen || r->settings->verbose) {
        for (size_t at = 0; (c = doctor_next_check(r, &at));)
            add_check(b, c, color, ascii);
        return;
    }
    doctor_add_problems(r, b, color, ascii);
    buf_puts(b, "'toll doctor -v' lists all checks.\n");
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
    json_put_array(&j, "checks");
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
    buf_puts(b, "\nChecks\n");
    for (size_t i = 0; (c = toll_check_at(i)); i++) {
        size_t start = b->length;
        buf_printf(b, "    %c %s", c->essential ? '*' : ' ', c->name);
        buf_pad(b, start, TEXT_COLUMN);
        help_wrap(b, c->title, TEXT_COLUMN);
    }
}

static int doctor_run(struct settings *s)
{
    struct request r = {.settings = s};
    struct toll_error e = {0};
    struct buf b = {0};
    int status = doctor_check_names(s->words);
    if (status == 0 && toll_diagnosis_new(&r.diagnosis, s->root, &e) < 0)
        status = complain_error("doctor", &e);
    if (status == 0) {
        (s->json ? doctor_command_as_json : doctor_command_as_text)(&r, &b);
        status = s->json ? print(&b) : print_paged(&b);
    }
    if (status == 0 && s->strict && !doctor_is_satisfied(&r))
        status = 1;
    toll_diagnosis_free(r.diagnosis);
    return status;
}

int doctor_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, SIZE_MAX, doctor_run);
}
