/* SPDX-License-Identifier: MIT
 * The ranks of parallel jobs, from their records: which belong together, and what each used over
 * time. */
#include "sink/report/job.h"
#include "base/memory.h"
#include "study/study.h"

#include <stdio.h>
#include <string.h>

static const enum study_figure job_from[JOB_FIGURES] = {
    [JOB_WALL] = FIGURE_WALL,
    [JOB_CPU] = FIGURE_CPU,
    [JOB_MEMORY] = FIGURE_MEMORY_PEAK,
    [JOB_READ] = FIGURE_STORAGE_READ,
    [JOB_WRITTEN] = FIGURE_STORAGE_WRITTEN,
};

/* A rank whose record was read. */
struct study_rank {
    char id[UUID_BYTES];
    uint64_t start_ns, number; /* of its run, with the id what it is found by */
    struct rank_curve curve;
    uint64_t last_ns; /* how far it was read, since the start of the run */
    double cpu_seconds;
    bool has_cpu;
};

/* CPU time grows between samples; memory is what it was at the end of the interval. */
static void study_rank_add(struct study_rank *k, const struct run *run, const struct frame *f)
{
    const struct row *row = f->target[PART_COMBINED].row;
    double grown = 0, memory = 0;
    if (!row || f->elapsed_ns < k->last_ns)
        return;
    if (row_has(row, process_cpu_seconds)) {
        double now = metric_number(metric_of(process_cpu_seconds),
                                   row_value(row, process_cpu_seconds));
        grown = k->has_cpu && now < k->cpu_seconds ? 0 : now - (k->has_cpu ? k->cpu_seconds : 0);
        k->cpu_seconds = now;
        k->has_cpu = true;
    }
    if (row_has(row, process_memory_rss_bytes))
        memory = (double)row_value(row, process_memory_rss_bytes).u;
    rank_curve_add(&k->curve, run->start_real_ns + k->last_ns, run->start_real_ns + f->elapsed_ns,
                   grown, memory);
    k->last_ns = f->elapsed_ns;
}

static int study_rank_compare(const void *left, const void *right)
{
    const struct study_rank *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    int order = strcmp(a->id, b->id);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

void study_ranks_item(struct study_ranks *k, const struct record_item *item)
{
    if (item->kind == RECORD_RUN) {
        free(k->open);
        k->open = *item->run->parallel.rank ? calloc(1, sizeof *k->open) : NULL;
        k->has_failed |= *item->run->parallel.rank && !k->open;
    }
    if (!k->open)
        return;
    if (item->kind == RECORD_FRAME)
        study_rank_add(k->open, item->run, item->frame);
    if (item->kind != RECORD_SUMMARY)
        return;
    struct study_rank *into = NULL; /* a copy that lacks its end is replaced */
    memcpy(k->open->id, item->run->id, sizeof k->open->id);
    k->open->start_ns = item->run->start_real_ns;
    k->open->number = item->number;
    for (size_t i = 0; i < k->count && !into; i++)
        if (study_rank_compare(&k->items[i], k->open) == 0)
            into = &k->items[i];
    if (!into && !ARRAY_RESERVE(k->items, k->capacity, k->count + 1)) {
        k->has_failed = true;
        return;
    }
    *(into ? into : &k->items[k->count++]) = *k->open;
}

void study_ranks_done(struct study_ranks *k)
{
    free(k->items);
    free(k->open);
    *k = (struct study_ranks){0};
}

/* NULL: the record has no samples. */
static struct rank_curve *study_ranks_find(struct study_ranks *k, const struct study_run *r)
{
    struct study_rank wanted = {.start_ns = r->start_ns, .number = r->number};
    snprintf(wanted.id, sizeof wanted.id, "%s", r->id);
    struct study_rank *found = k->count ? bsearch(&wanted, k->items, k->count, sizeof *k->items,
                                                  study_rank_compare)
                                        : NULL;
    return found ? &found->curve : NULL;
}

static void study_rank_describe(struct study_ranks *k, const struct study_run *r,
                                struct job_rank *ret)
{
    *ret = (struct job_rank){
        .rank = r->parallel.rank,
        .host = r->host,
        .record = r->path,
        .id = r->id,
        .start_ns = r->start_ns,
        .end_ns = r->start_ns + r->elapsed_ns,
        .end = r->end,
        .cut_short = r->cut_short,
        .curve = study_ranks_find(k, r),
    };
    for (unsigned f = 0; f < JOB_FIGURES; f++) {
        ret->figures[f].value = r->figures[job_from[f]].value;
        ret->figures[f].quality = r->figures[job_from[f]].quality;
    }
}

static size_t study_number(const char *text)
{
    size_t number = 0;
    for (; *text >= '0' && *text <= '9' && number < SIZE_MAX / 20; text++)
        number = number * 10 + (size_t)(*text - '0');
    return number;
}

int study_ranks_newest(struct study_ranks *k, const struct study_runs *runs, struct report_job *ret)
{
    struct rank_run *places = calloc(runs->count + 1, sizeof *places);
    const struct study_run *newest = NULL;
    size_t members = 0;
    *ret = (struct report_job){0};
    for (size_t i = 0; i < runs->count; i++)
        if (!newest || runs->items[i].start_ns >= newest->start_ns)
            newest = &runs->items[i];
    if (!places || !newest || !*newest->parallel.rank) {
        free(places);
        return newest && !places ? -ENOMEM : 0;
    }
    for (size_t i = 0; i < runs->count; i++) {
        const struct study_run *r = &runs->items[i];
        places[i] = (struct rank_run){
            .rank = r->parallel.rank,
            .launch = r->parallel.launch,
            .job_id = r->job.id,
            .array_index = r->job.array_index,
            .world_size = r->parallel.world_size,
            .name = r->name,
            .start_ns = r->start_ns,
            .end_ns = r->start_ns + r->elapsed_ns,
        };
    }
    int result = rank_group(places, runs->count);
    size_t wanted = places[newest - runs->items].number;
    for (size_t i = 0; i < runs->count && result == 0; i++)
        members += places[i].number == wanted;
    if (result == 0 && members > 1)
        ret->ranks = calloc(members, sizeof *ret->ranks);
    if (ret->ranks) {
        if (k->count)
            qsort(k->items, k->count, sizeof *k->items, study_rank_compare);
        for (size_t i = 0; i < runs->count; i++)
            if (places[i].number == wanted)
                study_rank_describe(k, &runs->items[i], &ret->ranks[ret->count++]);
        for (unsigned f = 0; f < JOB_FIGURES; f++)
            ret->keys[f] = study_figures[job_from[f]].key;
        ret->name = newest->name;
        ret->job_id = newest->job.id;
        ret->array_index = newest->job.array_index;
        ret->launcher = newest->parallel.launcher;
        ret->world_size = study_number(newest->parallel.world_size);
    }
    if (result == 0 && members > 1)
        result = ret->ranks && report_job_finish(ret) ? 1 : -ENOMEM;
    if (result < 0)
        report_job_done(ret);
    free(places);
    return result;
}
