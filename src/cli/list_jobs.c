/* SPDX-License-Identifier: MIT
 * The ranks of a parallel job as one line of toll list. */
#include "base/memory.h"
#include "base/rank.h"
#include "base/text/scan.h"
#include "cli/list.h"

#include <string.h>

/* Whether it failed, or its record lacks the end. */
static bool listed_rank_is_bad(const struct listed_run *r)
{
    double status = run_exit(r);
    return (!isnan(status) && status > 0) || (r->end.unknown && !r->end.ended);
}

/* What is known of a part only is a lower bound of the whole. */
static enum toll_quality listed_quality(enum toll_quality a, enum toll_quality b)
{
    bool is_partly = a == TOLL_QUALITY_UNKNOWN || b == TOLL_QUALITY_UNKNOWN ||
                     a == TOLL_QUALITY_LOWER_BOUND || b == TOLL_QUALITY_LOWER_BOUND;
    if (a == b)
        return a;
    return is_partly                                                ? TOLL_QUALITY_LOWER_BOUND
           : a == TOLL_QUALITY_SAMPLED || b == TOLL_QUALITY_SAMPLED ? TOLL_QUALITY_SAMPLED
                                                                    : (a > b ? a : b);
}

/* Adds a rank of the same job to the first one of it. */
static void listed_job_add(struct listed_run *job, struct listed_run *rank)
{
    struct toll_summary *sum = &job->used;
    const struct toll_summary *more = &rank->used;
    bool has_cpu = list_is_known(sum->cpu_seconds, sum->cpu_quality);
    bool adds_cpu = list_is_known(more->cpu_seconds, more->cpu_quality);
    bool has_memory = list_is_known(sum->memory_peak_bytes, sum->memory_quality);
    bool adds_memory = list_is_known(more->memory_peak_bytes, more->memory_quality);
    sum->cpu_seconds = (has_cpu ? sum->cpu_seconds : 0) + (adds_cpu ? more->cpu_seconds : 0);
    sum->cpu_quality = listed_quality(sum->cpu_quality, more->cpu_quality);
    if (adds_memory && (!has_memory || more->memory_peak_bytes > sum->memory_peak_bytes))
        sum->memory_peak_bytes = more->memory_peak_bytes;
    sum->memory_quality = listed_quality(sum->memory_quality, more->memory_quality);
    uint64_t longest = job->end.elapsed_ns > rank->end.elapsed_ns ? job->end.elapsed_ns
                                                                  : rank->end.elapsed_ns;
    if (listed_rank_is_bad(rank) && job->bad_ranks++ == 0) {
        char *name = job->rank;
        job->rank = rank->rank; /* the table names the first that failed */
        rank->rank = name;
        job->end = rank->end;
        job->cut_short = rank->cut_short;
        job->may_be_running = rank->may_be_running;
    }
    job->end.elapsed_ns = longest;
    job->start_ns = rank->start_ns < job->start_ns ? rank->start_ns : job->start_ns;
    job->samples += rank->samples;
    job->records += strcmp(job->path, rank->path) != 0;
    job->ranks++;
}

static int listed_compare_places(const void *left, const void *right)
{
    const struct rank_run *a = *(const struct rank_run *const *)left;
    const struct rank_run *b = *(const struct rank_run *const *)right;
    if (a->number != b->number)
        return (a->number > b->number) - (a->number < b->number);
    size_t x = strlen(a->rank), y = strlen(b->rank);
    return x != y ? (x > y) - (x < y) : strcmp(a->rank, b->rank);
}

bool list_merge_ranks(struct list *l)
{
    struct rank_run *places = calloc(l->count + 1, sizeof *places);
    const struct rank_run **sorted = calloc(l->count + 1, sizeof *sorted);
    bool *is_merged = calloc(l->count + 1, sizeof *is_merged);
    for (size_t i = 0; places && sorted && i < l->count; i++) {
        const struct listed_run *r = &l->runs[i];
        places[i] = (struct rank_run){
            .rank = r->rank,
            .launch = r->launch,
            .job_id = r->job_id,
            .array_index = r->array_index,
            .world_size = r->world_size,
            .name = r->name,
            .start_ns = r->start_ns,
            .end_ns = r->start_ns + r->end.elapsed_ns,
        };
        sorted[i] = &places[i];
    }
    bool ok = places && sorted && is_merged && rank_group(places, l->count) == 0;
    if (ok && l->count)
        qsort(sorted, l->count, sizeof *sorted, listed_compare_places);
    for (size_t i = 0, first = 0; ok && i < l->count; i++) {
        struct listed_run *job = &l->runs[sorted[first] - places];
        struct listed_run *rank = &l->runs[sorted[i] - places];
        if (sorted[i]->number != sorted[first]->number || i == first) {
            first = i;
            continue;
        }
        if (!job->ranks) {
            job->ranks = job->records = 1;
            job->bad_ranks = listed_rank_is_bad(job);
        }
        listed_job_add(job, rank);
        is_merged[rank - l->runs] = true;
    }
    size_t kept = 0;
    for (size_t i = 0; ok && i < l->count; i++) {
        struct listed_run *r = &l->runs[i];
        struct scan text = scan_string(r->world_size);
        uint64_t all;
        if (r->ranks && scan_u64(&text, &all) && all > r->ranks) /* ranks are missing */
            r->used.cpu_quality = listed_quality(r->used.cpu_quality, TOLL_QUALITY_UNKNOWN);
        if (is_merged[i])
            listed_run_done(r);
        else
            l->runs[kept++] = *r;
    }
    l->count = ok ? kept : l->count;
    free(places);
    free(sorted);
    free(is_merged);
    return ok;
}
