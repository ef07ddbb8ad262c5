/* SPDX-License-Identifier: MIT
 * toll export, toll list and toll send: what was measured before. */
#include "base/io/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

/* ==== Send command ============================================================================ */

/* toll send: what an output could not send, later. */

static int send_spool(struct settings *s)
{
    struct toll_sent sent = {.size = sizeof sent};
    struct toll_error e;
    int r = toll_send(s->words[0], s->words[1], &sent, &e);
    if (r < 0)
        return complain("%s", e.message);
    text_make_printable(sent.run); /* a server has named it */
    const char *to = *sent.run ? " to run " : "";
    if (sent.points_before)
        printf("sent %llu of %llu points%s%s; %llu were there already\n",
               (unsigned long long)sent.points,
               (unsigned long long)(sent.points + sent.points_before), to, sent.run,
               (unsigned long long)sent.points_before);
    else
        printf("%llu sample%s sent%s%s\n", (unsigned long long)sent.samples,
               sent.samples == 1 ? "" : "s", to, sent.run);
    return 0;
}

/* ==== Export command ========================================================================== */

/* toll export: a record in another format. */

static void export_command_say(void *arg, const char *sentence)
{
    const struct settings *s = arg;
    if (!s->quiet)
        complain("%s", sentence);
}

/* Everything that is said of outputs, as the library takes it. */
struct wanted {
    struct toll_output *outputs;     /* owned */
    const struct toll_output **list; /* owned, NULL-terminated */
    char **layouts;                  /* owned, of single outputs */
    size_t count;
    bool writes_stdout;
    bool carries_layout;
};

static int export_command_add_output(struct wanted *w, const struct settings *s, const char *file,
                                     struct toll_error *e)
{
    struct toll_output *out = &w->outputs[w->count];
    *out = (struct toll_output){
        .size = sizeof *out,
        .flags = s->verbose ? TOLL_OUTPUT_VERBOSE : 0,
    };
    out->format = output_format(s, file, &out->destination);
    if (strcmp(out->destination, "-") == 0) {
        if (w->writes_stdout)
            return err_set(e, -EINVAL, "--output: '-' is given twice");
        w->writes_stdout = true;
        out->destination = NULL;
        out->fd = STDOUT_FILENO;
        out->format = out->format ? out->format : "csv";
        terminal_describe(out, s->color);
    }
    bool is_directory = s->layout && out->destination && file_is_directory(out->destination);
    out->layout = w->layouts[w->count] = output_layout(file);
    if (!out->layout && (is_directory || layout_has(s, out->format))) {
        out->layout = s->layout;
        w->carries_layout = true;
    }
    w->list[w->count++] = out;
    return 0;
}

static int choose_outputs(struct wanted *w, const struct settings *s, struct toll_error *e)
{
    static const char *to_stdout[] = {"-", NULL};
    const char **files = s->outputs ? s->outputs : to_stdout;
    size_t count = 0;
    while (files[count])
        count++;
    w->outputs = calloc(count, sizeof *w->outputs);
    w->list = calloc(count + 1, sizeof *w->list);
    w->layouts = calloc(count, sizeof *w->layouts);
    if (!w->outputs || !w->list || !w->layouts)
        return err_set(e, -ENOMEM, "no memory for the outputs");
    int r = 0;
    for (const char **file = files; *file && r == 0; file++)
        r = export_command_add_output(w, s, *file, e);
    return r < 0 ? r : layout_check_carried(s, w->carries_layout, e);
}

struct run_search {
    const char *id; /* or its end */
    uint64_t number, count;
};

static void compare_run(void *arg, const struct toll_run *r)
{
    struct run_search *search = arg;
    size_t length = strlen(search->id), whole = strlen(r->id);
    if (length > whole || strcasecmp(r->id + whole - length, search->id) != 0)
        return;
    search->number = r->number;
    search->count++;
}

/* The number of the run that is asked for by its id. */
static int export_command_find_run(const struct settings *s, uint64_t *ret, struct toll_error *e)
{
    struct run_search search = {.id = s->run_id};
    if (strcmp(s->words[0], "-") == 0)
        return err_set(e, -EINVAL, "--run takes the number of a run when the record is stdin");
    int r = toll_record_runs(s->words[0], compare_run, &search, e);
    if (search.count > 1)
        return err_set(e, -EINVAL, "--run: %llu runs have an id that ends in '%s'",
                       (unsigned long long)search.count, s->run_id);
    if (r == 0 && !search.count)
        return err_set(e, -ENOENT, "there is no run in the record whose id ends in '%s'",
                       s->run_id);
    *ret = search.number;
    return search.count ? 0 : r;
}

static int run_export(struct settings *s)
{
    struct toll_error e = {0};
    struct wanted w = {0};
    struct toll_export x = {
        .size = sizeof x,
        .record = s->words[0],
        .run = s->run,
        .metrics = s->tracker.metrics,
        .note = export_command_say,
        .note_arg = s,
        .show_secrets = s->tracker.show_secrets,
        .no_args = s->tracker.no_args,
    };
    if (strcmp(x.record, "-") == 0)
        x.record = NULL; /* descriptor 0 */
    int r = choose_outputs(&w, s, &e);
    x.outputs = w.list;
    if (r == 0 && s->run_id)
        r = export_command_find_run(s, &x.run, &e);
    if (r == 0)
        r = toll_record_export(&x, &e);
    for (size_t i = 0; w.layouts && i < w.count; i++)
        free(w.layouts[i]);
    free(w.layouts);
    free(w.outputs);
    free(w.list);
    if (r == -EPIPE && w.writes_stdout)
        return 0; /* the end of a pipeline has seen enough */
    return r < 0 ? complain("%s", e.message) : 0;
}

/* ==== List command ============================================================================ */

/* The short form of an id is inserted when all are known. */
struct listed_id {
    size_t at; /* in the text */
    char id[40];
};

struct list {
    struct buf text;
    struct listed_id *ids; /* owned */
    size_t id_count;
    struct json_out json;
    bool as_json;
    bool has_heading;
    const char *path;
    uint64_t count; /* of the runs in it */
};

/* ---- For programs ---------------------------------------------------------------------------- */

static void list_command_add_words(struct json_out *j, const char *key, const char *const *words)
{
    json_key(j, key);
    json_array(j);
    for (; *words; words++)
        json_string(j, *words);
    json_array_end(j);
}

static const char *status_word(const struct toll_end *end)
{
    if (!end->ended && !end->unknown)
        return "running";
    return end->unknown ? "unknown" : end->signaled ? "signaled" : "exited";
}

static void add_json(struct list *l, const struct toll_run *r)
{
    struct json_out *j = &l->json;
    json_object(j);
    json_put_string(j, "record", l->path);
    json_put_u64(j, "run", r->number);
    json_key(j, "id");
    if (*r->id)
        json_string(j, r->id);
    else
        json_null(j);
    json_put_utc(j, "start", r->start_ns);
    json_put_seconds(j, "wall_seconds", r->end->elapsed_ns);
    json_put_u64(j, "samples", r->samples);
    json_put_string(j, "status", status_word(r->end));
    json_key(j, "code");
    if (r->end->ended && !r->end->unknown && !r->end->signaled)
        json_i64(j, r->end->status);
    else
        json_null(j);
    json_key(j, "signal");
    if (r->end->signaled)
        json_i64(j, r->end->status);
    else
        json_null(j);
    json_put_bool(j, "cut_short", r->cut_short);
    json_put_string(j, "name", r->name);
    list_command_add_words(j, "command", r->command);
    list_command_add_words(j, "attached_to", r->attached_to);
    list_command_add_words(j, "labels", r->labels);
    json_put_string(j, "host", r->host);
    json_put_string(j, "toll", r->version);
    json_object_end(j);
}

/* ---- For people ------------------------------------------------------------------------------ */

/* Eighty columns have a short command in them; to the millisecond it is in the JSON. */
enum { NUMBER = 4, START = 22, SECONDS = 19, TIME = 11, SAMPLES = 9, STATUS = 13 };

/* Whatever others have written, it is for a terminal. */
static void add_foreign(struct buf *b, const char *text)
{
    buf_printable(b, text, strlen(text));
}

static void add_status(struct buf *b, const struct toll_run *r)
{
    const char *signal = r->end->signaled ? signal_name(r->end->status) : NULL;
    /* The record is whole, and what it is of runs on. */
    bool is_left = !r->cut_short && !r->end->ended;
    if (r->end->unknown && !r->end->ended)
        buf_puts(b, "cut short");
    else if (is_left)
        buf_puts(b, *r->attached_to ? "left running" : "ended");
    else if (!r->end->ended || r->end->unknown)
        buf_puts(b, r->end->ended ? "ended" : "running");
    else if (signal)
        buf_printf(b, "SIG%s", signal);
    else
        buf_printf(b, "%s %d", r->end->signaled ? "signal" : "exit", r->end->status);
}

static void list_add_id(struct list *l, const char *id)
{
    if (!ARRAY_GROW(l->ids, l->id_count)) {
        l->text.failed = true;
        return;
    }
    struct listed_id *added = &l->ids[l->id_count++];
    added->at = l->text.length;
    snprintf(added->id, sizeof added->id, "%s", id);
}

static int compare_from_the_end(const void *left, const void *right)
{
    const struct listed_id *a = left, *b = right;
    size_t i = strlen(a->id), k = strlen(b->id);
    while (i && k && a->id[i - 1] == b->id[k - 1]) {
        i--;
        k--;
    }
    int x = i ? a->id[i - 1] : 0, y = k ? b->id[k - 1] : 0;
    return x - y;
}

/* So many digits at the end tell all ids apart, of those that are not the same. */
static size_t digits_to_show(const struct list *l)
{
    size_t digits = RUN_ID_DIGITS;
    struct listed_id *sorted = calloc(l->id_count ? l->id_count : 1, sizeof *sorted);
    if (!sorted)
        return digits;
    memcpy(sorted, l->ids, l->id_count * sizeof *sorted);
    qsort(sorted, l->id_count, sizeof *sorted, compare_from_the_end);
    for (size_t i = 1; i < l->id_count; i++) {
        const char *a = sorted[i - 1].id, *b = sorted[i].id;
        size_t m = strlen(a), n = strlen(b), same = 0;
        while (same < m && same < n && a[m - 1 - same] == b[n - 1 - same])
            same++;
        if ((same < m || same < n) && same >= digits)
            digits = same + 1;
    }
    free(sorted);
    return digits;
}

static void insert_ids(struct list *l)
{
    struct buf out = {0};
    size_t digits = digits_to_show(l), from = 0;
    for (size_t i = 0; i < l->id_count; i++) {
        const char *id = l->ids[i].id;
        size_t length = strlen(id), skip = length > digits ? length - digits : 0;
        buf_add(&out, l->text.data + from, l->ids[i].at - from);
        from = l->ids[i].at;
        buf_printf(&out, "%-*s  ", (int)digits, id + skip);
        if (l->text.data[from] == '\n')
            while (out.data && out.length && out.data[out.length - 1] == ' ')
                out.length--;
    }
    buf_add(&out, l->text.data + from, l->text.length - from);
    buf_done(&l->text);
    l->text = out;
}

static void list_command_add_heading(struct list *l)
{
    struct buf *b = &l->text;
    if (!l->has_heading)
        buf_printf(b, "%*s  %-*s%*s%*s  %-*s", NUMBER, "run", START, "start", TIME, "time", SAMPLES,
                   "samples", STATUS, "status");
    if (!l->has_heading) {
        list_add_id(l, "id");
        buf_puts(b, "command\n");
    }
    l->has_heading = true;
}

static void list_command_add_text(struct list *l, const struct toll_run *r)
{
    struct buf *b = &l->text;
    list_command_add_heading(l);
    buf_printf(b, "%*llu  ", NUMBER, (unsigned long long)r->number);
    size_t at = b->length;
    buf_utc(b, r->start_ns);
    if (!b->failed && b->length > at + SECONDS)
        b->length = at + SECONDS;
    buf_puts(b, "Z");
    buf_pad(b, at, START);
    at = b->length;
    buf_fixed(b, r->end->elapsed_ns / NS_PER_MS, 3);
    buf_puts(b, " s");
    buf_pad_left(b, at, TIME);
    buf_printf(b, "%*llu  ", SAMPLES, (unsigned long long)r->samples);
    at = b->length;
    add_status(b, r);
    buf_pad(b, at, STATUS);
    list_add_id(l, *r->id ? r->id : "-");
    at = b->length;
    const char *program = *r->command ? strrchr(*r->command, '/') : NULL;
    program = program ? program + 1 : *r->command ? *r->command : "";
    if (*r->name && strcmp(r->name, program) != 0) { /* which it is by default */
        add_foreign(b, r->name);
        buf_puts(b, *r->command ? ":" : "");
    }
    for (const char *const *word = r->command; *word; word++) {
        buf_puts(b, b->length > at ? " " : "");
        add_foreign(b, *word);
    }
    for (const char *const *target = r->attached_to; *target; target++) {
        buf_puts(b, target > r->attached_to ? ", " : *r->name ? ": attached to " : "attached to ");
        add_foreign(b, *target);
    }
    while (b->length > at && b->data[b->length - 1] == ' ')
        b->length--;
    buf_putc(b, '\n');
}

static void add_run(void *arg, const struct toll_run *r)
{
    struct list *l = arg;
    l->count++;
    if (l->as_json)
        add_json(l, r);
    else
        list_command_add_text(l, r);
}

/* ---- The files ------------------------------------------------------------------------------- */

/* What runs there are before something that cannot be read is listed all the same. */
static int list_file(struct list *l, const char *path, bool with_name)
{
    struct toll_error e = {0};
    size_t began = l->text.length;
    l->path = path;
    l->count = 0;
    if (with_name && !l->as_json) {
        buf_puts(&l->text, l->text.length ? "\n" : "");
        add_foreign(&l->text, path);
        buf_puts(&l->text, ":\n");
        l->has_heading = false;
    }
    int r = toll_record_runs(path, add_run, l, &e);
    if (r < 0 && !l->count && !l->as_json)
        l->text.length = began;
    return r < 0 ? complain("%s", e.message) : 0;
}

static int list_files(struct settings *s)
{
    struct list l = {.as_json = s->json};
    int failed = 0;
    json_begin(&l.json, &l.text, 2);
    if (l.as_json)
        json_array(&l.json);
    for (const char **path = s->words; *path; path++) {
        int status = list_file(&l, *path, s->words[1] != NULL);
        failed = status ? status : failed;
    }
    if (l.as_json) {
        json_array_end(&l.json);
        buf_putc(&l.text, '\n');
    }
    bool is_empty = failed && !s->words[1] && !l.count; /* one file, and nothing in it */
    if (is_empty)
        buf_clear(&l.text);
    if (l.id_count && l.text.data)
        insert_ids(&l);
    free(l.ids);
    int status = print(&l.text);
    return failed ? failed : status;
}

int export_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 1, 1,
                           "toll export takes one record: a .jsonl or .sqlite file, or - for stdin",
                           run_export);
}

int list_main(int argc, char **argv)
{
    return subcommand_main(
        argc, argv, 1, SIZE_MAX,
        "toll list takes records: .jsonl and .sqlite files that toll has written", list_files);
}

int send_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 1, 2, "toll send takes SPOOL [DESTINATION]", send_spool);
}
