/* SPDX-License-Identifier: MIT
 * toll_record_runs: what runs there are in a record. */
#include "base/err.h"
#include "record/record_reader.h"

/* The words are the run's, the list is the caller's to free. NULL: no memory. */
static const char **list_targets(const struct run *run)
{
    const char **list = calloc(run->target_count + 1, sizeof *list);
    for (size_t i = 0; list && i < run->target_count; i++)
        list[i] = run->targets[i].what ? run->targets[i].what : run->targets[i].name;
    return list;
}

static void describe(struct toll_run *ret, const struct record_item *item)
{
    static const char *const none[] = {NULL};
    const struct run *run = item->run;
    ret->name = run->name ? run->name : "";
    ret->command = run->command ? (const char *const *)run->command : none;
    ret->labels = run->labels ? (const char *const *)run->labels : none;
    ret->host = run->host;
    ret->id = run->id;
    ret->version = run->version ? run->version : "";
    ret->start_ns = run->start_real_ns;
    ret->elapsed_ns = item->summary->elapsed_ns;
    ret->end = item->summary->whole.end;
    ret->cut_short = item->cut_short || (ret->end.unknown && !ret->end.ended);
    ret->end.size = sizeof ret->end;
}

int toll_record_runs(const char *path, void (*run)(void *arg, const struct toll_run *run),
                     void *arg, struct toll_error *e)
{
    struct record_reader *reader = NULL;
    struct toll_run one = {0};
    struct record_item item;
    if (!path || !run)
        return err_set(e, -EINVAL, path ? "no function takes the runs" : "no record is named");
    int r = record_reader_open(&reader, path, e);
    while (r == 0 && (r = record_reader_next(reader, &item, e)) > 0) {
        r = 0;
        if (item.kind == RECORD_RUN) {
            one.number = item.number;
            one.samples = 0;
        }
        one.samples += item.kind == RECORD_FRAME;
        if (item.kind != RECORD_SUMMARY)
            continue;
        const char **targets = list_targets(item.run);
        if (!targets) {
            r = err_set(e, -ENOMEM, "no memory to read a record");
            break;
        }
        describe(&one, &item);
        one.attached_to = targets;
        run(arg, &one);
        free(targets);
    }
    record_reader_free(reader);
    return r;
}
