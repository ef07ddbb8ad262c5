/* SPDX-License-Identifier: MIT
 * toll metrics: the table of metrics for people, for programs and for the documentation. */
#include "base/json_out.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void as_text(struct buf *b)
{
    const char *entity = "";
    const struct toll_metric *m;
    for (size_t i = 0; (m = toll_metric_at(i)); i++) {
        if (strcmp(entity, m->entity) != 0)
            buf_printf(b, "%s%s\n", i ? "\n" : "", entity = m->entity);
        size_t start = b->length;
        buf_printf(b, "  %s", m->name);
        buf_pad(b, start, 28);
        start = b->length;
        buf_puts(b, m->kind);
        buf_pad(b, start, 9);
        buf_printf(b, "%s\n", m->help);
        start = b->length;
        buf_pad(b, start, 28);
        buf_printf(b, "from %s, %s\n", m->source, m->cost);
    }
    buf_puts(b, "\nA target (the job) has the metrics of a process in three parts: target_… is "
                "the whole,\nmain_… the command itself, descendants_… what it started.\n");
}

static void as_json(struct buf *b)
{
    struct json_out j;
    json_begin(&j, b, 2);
    json_array(&j);
    const struct toll_metric *m;
    for (size_t i = 0; (m = toll_metric_at(i)); i++) {
        const char *fields[][2] = {
            {"entity", m->entity}, {"name", m->name}, {"title", m->title}, {"kind", m->kind},
            {"unit", m->unit},     {"fold", m->fold}, {"cost", m->cost},   {"source", m->source},
            {"otel", m->otel},     {"help", m->help},
        };
        json_object(&j);
        for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
            json_put_string(&j, fields[f][0], fields[f][1]);
        }
        json_object_end(&j);
    }
    json_array_end(&j);
    buf_putc(b, '\n');
}

static void as_markdown(struct buf *b)
{
    const char *entity = "";
    const struct toll_metric *m;
    buf_puts(b, "# Metrics\n\nMade by `toll metrics --markdown`.\n");
    for (size_t i = 0; (m = toll_metric_at(i)); i++) {
        if (strcmp(entity, m->entity) != 0)
            buf_printf(b,
                       "\n## %s\n\n"
                       "| name | kind | unit | fold | cost | source | OpenTelemetry | meaning |\n"
                       "|---|---|---|---|---|---|---|---|\n",
                       entity = m->entity);
        buf_printf(b, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", m->name, m->kind, m->unit,
                   m->fold, m->cost, m->source, m->otel, m->help);
    }
}

int metrics_main(int argc, char **argv)
{
    struct buf b = {0};
    if (argc == 1)
        as_text(&b);
    else if (argc == 2 && strcmp(argv[1], "--json") == 0)
        as_json(&b);
    else if (argc == 2 && strcmp(argv[1], "--markdown") == 0)
        as_markdown(&b);
    else
        return complain("toll metrics takes --json, --markdown or nothing");
    return print(&b);
}
