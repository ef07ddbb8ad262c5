/* SPDX-License-Identifier: MIT
 * toll_record_runs: what runs there are in a record. */
#include "base/err.h"
#include "record/record_reader.h"

static void describe(struct toll_run *ret, const struct record_item *item)
{
    static const char *const none[] = {NULL};
    const struct run *run = item->run;
    ret->name = run->name ? run->name : "";
    ret->command = run->command ? (const char *const *)run->command : none;
    ret->labels = run->labels ? (const char *const *)run->labels : none;
    ret->host = run->host;
    ret->version = run->version ? run->version : "";
    ret->start_ns = run->start_real_ns;
    ret->elapsed_ns = item->summary->elapsed_ns;
    ret->cut_short = item->cut_short != NULL;
    ret->end = item->summary->whole.end;
    ret->end.size = sizeof ret->end;
}

int toll_record_runs(const char *path, void (*run)(void *arg, const struct toll_run *run),
                     void *arg, struct toll_error *e)
{
    struct record_reader *reader = NULL;
    struct toll_run one = {0};
    struct record_item item;
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
        describe(&one, &item);
        run(arg, &one);
    }
    record_reader_free(reader);
    return r;
}
