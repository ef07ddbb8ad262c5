/* SPDX-License-Identifier: MIT
 * toll export: a record in another format. */
#include "base/file.h"
#include "cli/color.h"
#include "cli/dialect_option.h"
#include "cli/help.h"

#include <string.h>

static void say(void *arg, const char *sentence)
{
    const struct settings *s = arg;
    if (!s->quiet)
        complain("%s", sentence);
}

/* Everything that is said of outputs, as the library takes it. */
struct wanted {
    struct toll_output *outputs;     /* owned */
    const struct toll_output **list; /* owned, NULL behind the last */
    char **dialects;                 /* owned, of single outputs */
    size_t count;
    bool writes_stdout;
    bool carries_dialect;
};

static int add_output(struct wanted *w, const struct settings *s, const char *file,
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
        out->flags |= color_is_wanted(out->fd) ? TOLL_OUTPUT_COLOR : 0;
    }
    bool is_directory = s->dialect && out->destination && file_is_directory(out->destination);
    out->dialect = w->dialects[w->count] = output_dialect(file);
    if (!out->dialect && (is_directory || dialect_has(s, out->format))) {
        out->dialect = s->dialect;
        w->carries_dialect = true;
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
    w->dialects = calloc(count, sizeof *w->dialects);
    if (!w->outputs || !w->list || !w->dialects)
        return err_set(e, -ENOMEM, "no memory for the outputs");
    int r = 0;
    for (const char **file = files; *file && r == 0; file++)
        r = add_output(w, s, *file, e);
    return r < 0 ? r : dialect_check_carried(s, w->carries_dialect, e);
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
static int find_run(const struct settings *s, uint64_t *ret, struct toll_error *e)
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
        .note = say,
        .note_arg = s,
        .show_secrets = s->tracker.show_secrets,
        .no_args = s->tracker.no_args,
    };
    if (strcmp(x.record, "-") == 0)
        x.record = NULL; /* descriptor 0 */
    int r = choose_outputs(&w, s, &e);
    x.outputs = w.list;
    if (r == 0 && s->run_id)
        r = find_run(s, &x.run, &e);
    if (r == 0)
        r = toll_record_export(&x, &e);
    for (size_t i = 0; w.dialects && i < w.count; i++)
        free(w.dialects[i]);
    free(w.dialects);
    free(w.outputs);
    free(w.list);
    if (r == -EPIPE && w.writes_stdout)
        return 0; /* the end of a pipeline has seen enough */
    return r < 0 ? complain("%s", e.message) : 0;
}

int export_main(int argc, char **argv)
{
    struct settings s = {0};
    struct toll_error e = {0};
    int rest, status;
    if (options_read(&s, argc, argv, &rest, &e) < 0)
        status = complain("%s", e.message);
    else if (s.help)
        status = help_subcommand(argv[0]);
    else if (!s.words || s.words[1])
        status = complain("toll export takes one record: a .jsonl or .sqlite file, or - for stdin");
    else
        status = run_export(&s);
    settings_done(&s);
    return status;
}
