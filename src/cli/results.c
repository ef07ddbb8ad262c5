/* SPDX-License-Identifier: MIT
 * toll export, toll resend, toll recommend: what was measured before. */
#include "base/io/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

/* ==== Resend command ========================================================================== */

/* toll resend: what an output could not send, later. */

static int send_spool(struct settings *s)
{
    struct toll_sent sent = {.size = sizeof sent};
    struct toll_error e;
    int r = toll_send(s->words[0], s->words[1], &sent, &e);
    if (r < 0)
        return complain_error("resend", &e);
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
        .flags = output_flags(s),
    };
    out->format = output_format(s, file, &out->destination);
    if (strcmp(out->destination, "-") == 0) {
        if (w->writes_stdout)
            return err_set(e, -EINVAL, "--output: stdout given twice");
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
        return err_set(e, -ENOMEM, "--output: out of memory");
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
        return err_set(e, -EINVAL,
                       "--run: invalid ID for a record on stdin (expected the number of a run)");
    int r = toll_record_runs(s->words[0], compare_run, &search, e);
    if (search.count > 1)
        return err_set(e, -EINVAL,
                       "--run: %llu runs have an ID that ends in '%s' (expected more digits)",
                       (unsigned long long)search.count, s->run_id);
    if (r == 0 && !search.count)
        return err_set(e, -ENOENT,
                       "--run: no run in the record has an ID that ends in '%s' ('toll list' "
                       "shows them)",
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
    return r < 0 ? complain_error("export", &e) : 0;
}

/* ==== Recommend command ======================================================================= */

static void recommend_command_note(void *arg, const char *sentence)
{
    complain("recommend: %s", sentence);
}

static int run_recommend(struct settings *s)
{
    struct toll_output terminal = {.fd = STDOUT_FILENO};
    struct toll_error e = {0};
    char *text = NULL;
    terminal_describe(&terminal, COLOR_NEVER);
    const struct toll_recommend x = {
        .size = sizeof x,
        .records = s->words,
        .name = s->list.name,
        .labels = s->labels,
        .format = s->json ? "json" : s->advised_tool,
        .note = recommend_command_note,
        .flags = terminal.flags & TOLL_OUTPUT_ASCII,
        .columns = terminal.columns,
    };
    if (toll_recommend(&x, &text, &e) < 0)
        return complain("recommend: %s", e.message);
    struct buf b = {0};
    buf_puts(&b, text);
    free(text);
    return print(&b);
}

int export_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 1, 1, run_export);
}

int resend_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 1, 2, send_spool);
}

int recommend_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, SIZE_MAX, run_recommend);
}
