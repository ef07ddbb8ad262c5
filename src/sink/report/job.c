/* SPDX-License-Identifier: MIT
 * What the ranks of a parallel job come to together. */
#include "sink/report/job.h"
#include "base/process.h"

#include <stdio.h>
#include <string.h>

#define SLOW_SHARE    1.25 /* of the median time of all ranks … */
#define SLOW_SECONDS  1.0  /* … and this much longer */
#define AHEAD_SECONDS 0.5  /* less is not worth a sentence */
#define BUSY_CORES    0.01 /* of a rank on average: below it there is no balance to speak of */

const struct job_figure_kind job_figures[JOB_FIGURES] = {
    [JOB_WALL] = {"Time", process_wall_seconds, false},
    [JOB_CPU] = {"CPU time", process_cpu_seconds, true},
    [JOB_MEMORY] = {"Peak memory", process_memory_rss_bytes, false},
    [JOB_READ] = {"Read from disk", process_storage_read_bytes, true},
    [JOB_WRITTEN] = {"Written to disk", process_storage_written_bytes, true},
};

/* ==== Curves ================================================================================== */

enum { LEAST_SHIFT = 23 }; /* columns of 8.4 ms */

/* Makes columns wider until they have the shift, which is not smaller than theirs. */
static void rank_curve_widen(struct rank_curve *c, unsigned shift)
{
    for (; c->count && c->shift < shift; c->shift++) {
        uint64_t first = c->first >> 1;
        unsigned last = (unsigned)(((c->first + c->count - 1) >> 1) - first);
        for (unsigned i = 0; i <= last; i++) {
            float cpu = 0, memory = 0, peak = 0;
            for (unsigned half = 0; half < 2; half++) {
                uint64_t number = ((first + i) << 1) + half;
                if (number < c->first || number >= c->first + c->count)
                    continue;
                unsigned from = (unsigned)(number - c->first);
                cpu += c->cpu_seconds[from];
                memory += c->memory[from];
                peak = c->memory_peak[from] > peak ? c->memory_peak[from] : peak;
            }
            c->cpu_seconds[i] = cpu; /* i is never after those that are still read */
            c->memory[i] = memory;
            c->memory_peak[i] = peak;
        }
        for (unsigned i = last + 1; i < c->count; i++)
            c->cpu_seconds[i] = c->memory[i] = c->memory_peak[i] = 0;
        c->first = first;
        c->count = last + 1;
    }
}

void rank_curve_add(struct rank_curve *c, uint64_t from_ns, uint64_t until_ns, double cpu_seconds,
                    double memory_bytes)
{
    if (until_ns <= from_ns)
        return;
    if (!c->count)
        *c = (struct rank_curve){.shift = LEAST_SHIFT, .first = from_ns >> LEAST_SHIFT, .count = 1};
    if (from_ns >> c->shift < c->first) /* time does not fall within a record */
        return;
    while (((until_ns - 1) >> c->shift) - c->first >= JOB_COLUMNS)
        rank_curve_widen(c, c->shift + 1);
    for (uint64_t at = from_ns; at < until_ns;) {
        unsigned i = (unsigned)((at >> c->shift) - c->first);
        uint64_t end = min_u64(until_ns, ((at >> c->shift) + 1) << c->shift);
        double seconds = (double)(end - at) / 1e9;
        double share = (double)(end - at) / (double)(until_ns - from_ns);
        c->count = i + 1 > c->count ? i + 1 : c->count;
        c->cpu_seconds[i] += (float)(cpu_seconds * share);
        c->memory[i] += (float)(memory_bytes * seconds);
        if (memory_bytes > (double)c->memory_peak[i])
            c->memory_peak[i] = (float)memory_bytes;
        at = end;
    }
}

/* ==== Statistics ============================================================================== */

static int job_compare_ranks(const void *left, const void *right)
{
    const struct job_rank *a = left, *b = right;
    size_t x = strlen(a->rank), y = strlen(b->rank);
    return x != y ? (x > y) - (x < y) : strcmp(a->rank, b->rank);
}

static int job_compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double job_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, job_compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void job_make_statistics(struct report_job *j)
{
    for (unsigned f = 0; f < JOB_FIGURES; f++) {
        struct job_statistic *s = &j->figures[f];
        *s = (struct job_statistic){0};
        for (size_t i = 0; i < j->count; i++) {
            const struct job_rank *r = &j->ranks[i];
            double value = r->figures[f].value;
            if (r->figures[f].quality == QUALITY_UNKNOWN)
                continue;
            s->is_least |= r->figures[f].quality == QUALITY_LOWER_BOUND;
            if (!s->known || value < s->min) {
                s->min = value;
                s->min_rank = r->rank;
            }
            if (!s->known || value > s->max) {
                s->max = value;
                s->max_rank = r->rank;
            }
            s->sum += value;
            s->known++;
        }
        s->mean = s->known ? s->sum / (double)s->known : 0;
        s->sum_is_least = s->is_least || s->known < j->count || j->missing_count;
    }
    const struct job_statistic *cpu = &j->figures[JOB_CPU];
    j->imbalance = cpu->known > 1 && cpu->mean > 0 ? cpu->max / cpu->mean - 1 : (double)NAN;
}

/* "2, 5-7": which numbers below the number of ranks have no record. */
static void job_find_missing(struct report_job *j)
{
    enum { PARTS_AT_MOST = 100 };
    size_t next = 0, parts = 0;
    for (size_t i = 0; i <= j->count; i++) {
        size_t number = j->world_size;
        if (i < j->count) {
            number = 0;
            for (const char *c = j->ranks[i].rank; *c >= '0' && *c <= '9'; c++)
                number = number * 10 + (size_t)(*c - '0');
        }
        if (number > next && number <= j->world_size) {
            j->missing_count += number - next;
            if (parts++ < PARTS_AT_MOST) {
                buf_printf(&j->missing, "%s%zu", j->missing.length ? ", " : "", next);
                if (number > next + 1)
                    buf_printf(&j->missing, "-%zu", number - 1);
            }
        }
        next = number + 1 > next ? number + 1 : next;
    }
    if (parts > PARTS_AT_MOST)
        buf_puts(&j->missing, ", …");
}

/* ==== Hosts =================================================================================== */

/* Numbers the hosts in the order of their first ranks. */
static bool job_find_hosts(struct report_job *j)
{
    size_t capacity = 0;
    for (size_t i = 0; i < j->count; i++) {
        struct job_rank *r = &j->ranks[i];
        size_t k = i && strcmp(j->ranks[i - 1].host, r->host) == 0 ? j->ranks[i - 1].host_number
                                                                   : 0;
        while (k < j->host_count && strcmp(j->hosts[k].name, r->host) != 0)
            k++;
        if (k == j->host_count) {
            if (!ARRAY_RESERVE(j->hosts, capacity, j->host_count + 1))
                return false;
            j->hosts[j->host_count++] = (struct job_host){.name = r->host};
        }
        r->host_number = (unsigned)k;
        j->hosts[k].ranks++;
    }
    return true;
}

/* The median of the starts or of the ends of a host's ranks, in seconds since the first start. An
 * end counts if the rank ended by itself. False: there is none. */
static bool job_median_of(const struct report_job *j, unsigned host, bool is_end, double *values,
                          double *ret)
{
    uint64_t origin = j->ranks[0].start_ns;
    size_t count = 0;
    for (size_t i = 0; i < j->count; i++) {
        const struct job_rank *r = &j->ranks[i];
        if (r->host_number != host || (is_end && (r->cut_short || !r->end.ended)))
            continue;
        uint64_t at = is_end ? r->end_ns : r->start_ns;
        values[count++] = at >= origin ? (double)(at - origin) / 1e9 : -(double)(origin - at) / 1e9;
    }
    if (count)
        *ret = job_median(values, count);
    return count;
}

/* The ranks of a job start and end together. If those of a host are as much later at the start as
 * at the end, its clock is ahead, or all of it was late: their times are moved back. */
static bool job_align_clocks(struct report_job *j)
{
    double *values = calloc(j->count + 1, sizeof *values), start[2], end[2];
    if (!values)
        return false;
    for (unsigned h = 1; h < j->host_count; h++) {
        struct job_host *host = &j->hosts[h];
        host->knows_ahead = job_median_of(j, 0, false, values, &start[0]) &&
                            job_median_of(j, 0, true, values, &end[0]) &&
                            job_median_of(j, h, false, values, &start[1]) &&
                            job_median_of(j, h, true, values, &end[1]);
        if (!host->knows_ahead)
            continue;
        double early = start[1] - start[0], late = end[1] - end[0];
        host->ahead_seconds = (early + late) / 2;
        host->ahead_error = fabs(early - late) / 2;
        host->is_ahead = fabs(host->ahead_seconds) > AHEAD_SECONDS &&
                         fabs(host->ahead_seconds) > 3 * host->ahead_error;
    }
    free(values);
    return true;
}

/* The same moment by the clock of the first host. A unit is a nanosecond or a column. */
static uint64_t job_shift(const struct report_job *j, const struct job_rank *r, uint64_t at,
                          double unit_seconds)
{
    const struct job_host *host = &j->hosts[r->host_number];
    double ahead = host->is_ahead ? floor(host->ahead_seconds / unit_seconds + 0.5) : 0;
    if (ahead >= 0)
        return left_u64(at, (uint64_t)ahead);
    return at + (uint64_t)-ahead;
}

static uint64_t job_shift_time(const struct report_job *j, const struct job_rank *r, uint64_t ns)
{
    return job_shift(j, r, ns, 1e-9);
}

static uint64_t job_shift_column(const struct report_job *j, const struct job_rank *r, uint64_t at)
{
    return job_shift(j, r, at, (double)(UINT64_C(1) << j->shift) / 1e9);
}

static void job_find_skew(struct report_job *j)
{
    uint64_t starts[2] = {0}, ends[2] = {0};
    bool has_end = false;
    for (size_t i = 0; i < j->count; i++) {
        const struct job_rank *r = &j->ranks[i];
        uint64_t start = job_shift_time(j, r, r->start_ns), end = job_shift_time(j, r, r->end_ns);
        if (!i || start < starts[0])
            starts[0] = start;
        if (!i || start > starts[1]) {
            starts[1] = start;
            j->last_start = r->rank;
        }
        if (r->cut_short)
            continue;
        if (!has_end || end < ends[0]) {
            ends[0] = end;
            j->first_end = r->rank;
        }
        if (!has_end || end > ends[1])
            ends[1] = end;
        has_end = true;
    }
    j->start_skew = (double)(starts[1] - starts[0]) / 1e9;
    j->end_skew = has_end ? (double)(ends[1] - ends[0]) / 1e9 : (double)NAN;
}

/* ==== Over time =============================================================================== */

/* Gives all curves the same columns, of which there are JOB_COLUMNS at most. */
static void job_match_columns(struct report_job *j)
{
    uint64_t first = UINT64_MAX, last = 0;
    j->shift = LEAST_SHIFT;
    for (size_t i = 0; i < j->count; i++)
        if (j->ranks[i].curve && j->ranks[i].curve->shift > j->shift)
            j->shift = j->ranks[i].curve->shift;
    for (;; j->shift++) {
        first = UINT64_MAX;
        last = 0;
        for (size_t i = 0; i < j->count; i++) {
            struct rank_curve *c = j->ranks[i].curve;
            if (!c || !c->count)
                continue;
            rank_curve_widen(c, j->shift);
            uint64_t from = job_shift_column(j, &j->ranks[i], c->first);
            uint64_t until = from + c->count - 1;
            first = from < first ? from : first;
            last = until > last ? until : last;
        }
        if (first == UINT64_MAX || last - first < JOB_COLUMNS || j->shift >= 60)
            break;
    }
    j->columns = first == UINT64_MAX ? 0 : (unsigned)min_u64(last - first + 1, JOB_COLUMNS);
    j->first = first == UINT64_MAX ? 0 : first;
    for (size_t i = 0; i < j->count; i++) {
        struct rank_curve *c = j->ranks[i].curve;
        if (c && c->count)
            c->first = job_shift_column(j, &j->ranks[i], c->first);
    }
}

struct job_sums {
    double cpu[JOB_COLUMNS], most[JOB_COLUMNS], memory[JOB_COLUMNS], peaks[JOB_COLUMNS];
    unsigned ranks[JOB_COLUMNS];
};

/* Adds up the ranks of a host; UINT_MAX: all. */
static void job_add_up(const struct report_job *j, unsigned host, struct job_sums *sums,
                       struct job_together *ret)
{
    double width = (double)(UINT64_C(1) << j->shift) / 1e9;
    *sums = (struct job_sums){0};
    *ret = (struct job_together){0};
    for (size_t i = 0; i < j->count; i++) {
        const struct job_rank *r = &j->ranks[i];
        if (host != UINT32_MAX && r->host_number != host)
            continue;
        if (r->figures[JOB_MEMORY].quality != QUALITY_UNKNOWN)
            ret->memory_peaks += r->figures[JOB_MEMORY].value;
        if (!r->curve || !r->curve->count)
            continue;
        unsigned at = (unsigned)(r->curve->first - j->first);
        for (unsigned k = 0; k < r->curve->count && at + k < JOB_COLUMNS; k++) {
            double cpu = (double)r->curve->cpu_seconds[k];
            sums->cpu[at + k] += cpu;
            sums->most[at + k] = cpu > sums->most[at + k] ? cpu : sums->most[at + k];
            sums->memory[at + k] += (double)r->curve->memory[k];
            sums->peaks[at + k] += (double)r->curve->memory_peak[k];
            sums->ranks[at + k]++;
        }
    }
    for (unsigned k = 0; k < j->columns; k++) {
        double low = sums->memory[k] / width, high = sums->peaks[k], cores = sums->cpu[k] / width;
        low = low < high ? low : high; /* the mean of a steady column has a rounding error */
        ret->memory_low = low > ret->memory_low ? low : ret->memory_low;
        ret->memory_high = high > ret->memory_high ? high : ret->memory_high;
        ret->cores = cores > ret->cores ? cores : ret->cores;
    }
}

static void job_go_over_time(struct report_job *j, struct job_sums *sums)
{
    double width = (double)(UINT64_C(1) << j->shift) / 1e9;
    for (unsigned h = 0; h < j->host_count; h++)
        job_add_up(j, h, sums, &j->hosts[h].used);
    job_add_up(j, UINT32_MAX, sums, &j->together);
    j->imbalance_at = j->columns;
    for (unsigned k = 0; k < j->columns; k++) {
        double mean = sums->ranks[k] ? sums->cpu[k] / sums->ranks[k] : 0;
        bool is_busy = sums->ranks[k] > 1 && mean > BUSY_CORES * width;
        j->cores_over[k] = (float)(sums->cpu[k] / width);
        j->memory_over[k] = (float)sums->peaks[k];
        j->imbalance_over[k] = is_busy ? (float)(sums->most[k] / mean - 1) : NAN;
        if (is_busy && (j->imbalance_at == j->columns ||
                        j->imbalance_over[k] > j->imbalance_over[j->imbalance_at]))
            j->imbalance_at = k;
    }
}

static bool job_find_slow(struct report_job *j)
{
    double *values = calloc(j->count + 1, sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < j->count; i++)
        values[i] = j->ranks[i].figures[JOB_WALL].value;
    double median = job_median(values, j->count);
    for (size_t i = 0; i < j->count; i++) {
        double wall = j->ranks[i].figures[JOB_WALL].value;
        j->ranks[i].is_slow = wall >= SLOW_SHARE * median && wall >= median + SLOW_SECONDS;
    }
    free(values);
    return true;
}

bool report_job_finish(struct report_job *j)
{
    struct job_sums *sums = malloc(sizeof *sums);
    qsort(j->ranks, j->count, sizeof *j->ranks, job_compare_ranks);
    bool ok = sums && job_find_hosts(j) && job_align_clocks(j) && job_find_slow(j);
    if (ok) {
        job_find_missing(j);
        job_make_statistics(j);
        job_find_skew(j);
        job_match_columns(j);
        job_go_over_time(j, sums);
    }
    free(sums);
    return ok && !j->missing.failed;
}

void report_job_done(struct report_job *j)
{
    free(j->ranks);
    free(j->hosts);
    buf_done(&j->missing);
    *j = (struct report_job){0};
}

/* ==== In words ================================================================================ */

bool job_rank_is_bad(const struct job_rank *r)
{
    return r->cut_short || (r->end.ended && !r->end.unknown && (r->end.signaled || r->end.status));
}

void job_rank_put_end(const struct job_rank *r, struct buf *b)
{
    history_put_end(&(struct report_past){.end = r->end, .cut_short = r->cut_short}, b);
}

void report_job_put_title(const struct report_job *j, struct buf *b)
{
    buf_printable(b, j->name, strlen(j->name));
    buf_printf(b, "%s%zu ranks on %zu host%s", *j->name ? ": " : "", j->count, j->host_count,
               j->host_count == 1 ? "" : "s");
}

/* "2, 5 and 3 more": ranks that are named, of those for which is_named holds. */
static size_t job_put_ranks(const struct report_job *j, struct buf *b,
                            bool (*is_named)(const struct job_rank *r), bool with_end)
{
    enum { NAMED = 8 };
    size_t count = 0;
    for (size_t i = 0; i < j->count; i++) {
        if (!is_named(&j->ranks[i]))
            continue;
        if (count++ >= NAMED)
            continue;
        buf_printf(b, "%s%s", count > 1 ? ", " : "", j->ranks[i].rank);
        if (with_end) {
            buf_puts(b, " (");
            job_rank_put_end(&j->ranks[i], b);
            buf_printf(b, ", %s)", j->ranks[i].host);
        }
    }
    if (count > NAMED)
        buf_printf(b, " and %zu more", count - NAMED);
    return count;
}

static bool job_rank_is_slow(const struct job_rank *r)
{
    return r->is_slow;
}

static bool job_rank_is_cut_short(const struct job_rank *r)
{
    return r->cut_short;
}

/* "node2 is 3.20 s fast, node3 is 1.10 s slow": hosts whose times are shifted. */
static size_t job_put_clocks(const struct report_job *j, struct buf *b, double *ret_error)
{
    enum { NAMED = 8 };
    size_t count = 0;
    *ret_error = 0;
    for (size_t h = 0; h < j->host_count; h++) {
        const struct job_host *host = &j->hosts[h];
        if (!host->is_ahead)
            continue;
        *ret_error = host->ahead_error > *ret_error ? host->ahead_error : *ret_error;
        if (count++ >= NAMED)
            continue;
        buf_puts(b, count > 1 ? ", " : "");
        buf_printable(b, host->name, strlen(host->name));
        buf_puts(b, " is ");
        human_seconds(b, fabs(host->ahead_seconds));
        buf_puts(b, host->ahead_seconds > 0 ? " fast" : " slow");
    }
    if (count > NAMED)
        buf_printf(b, " and %zu more", count - NAMED);
    return count;
}

void report_job_find(const struct report_job *j, struct report_findings *ret)
{
    *ret = (struct report_findings){0};
    if (j->missing_count) {
        struct report_finding *one = report_finding_add(ret, "rank-missing", FINDING_PROBLEM);
        buf_printf(&one->sentence, "%zu of %zu ranks %s no record here: ", j->missing_count,
                   j->world_size, j->missing_count == 1 ? "has" : "have");
        buf_puts(&one->sentence, j->missing.data ? j->missing.data : "");
        buf_puts(&one->evidence, "figures of the job are without them");
    }
    struct buf names = {0};
    size_t count = job_put_ranks(j, &names, job_rank_is_bad, true);
    if (count) {
        struct report_finding *one = report_finding_add(ret, "rank-failed", FINDING_PROBLEM);
        buf_printf(&one->sentence, "%zu of %zu ranks failed: ", count, j->count);
        buf_puts(&one->sentence, names.data ? names.data : "");
        buf_clear(&names);
        if (job_put_ranks(j, &names, job_rank_is_cut_short, false))
            buf_puts(&one->evidence, "cut off: the record ends with its last sample, toll was "
                                     "killed or is still running");
        else
            buf_puts(&one->evidence, "a signal, or an exit status other than 0");
    }
    struct report_rank *ranks = calloc(j->count + 1, sizeof *ranks);
    unsigned known = 0;
    for (size_t i = 0; ranks && i < j->count; i++)
        if (j->ranks[i].figures[JOB_CPU].quality != QUALITY_UNKNOWN)
            ranks[known++] = (struct report_rank){j->ranks[i].rank,
                                                  j->ranks[i].figures[JOB_CPU].value};
    report_find_imbalance(ranks, known, ret);
    free(ranks);
    buf_clear(&names);
    count = job_put_ranks(j, &names, job_rank_is_slow, false);
    if (count) {
        struct report_finding *one = report_finding_add(ret, "rank-slow", FINDING_WARNING);
        buf_printf(&one->sentence, "%zu of %zu ranks took longer than the others: ", count,
                   j->count);
        buf_puts(&one->sentence, names.data ? names.data : "");
        buf_puts(&one->evidence, "at least 1.25 times the median of all ranks, and a second more");
    }
    double error;
    buf_clear(&names);
    if (job_put_clocks(j, &names, &error)) {
        struct report_finding *one = report_finding_add(ret, "clock-offset", FINDING_NOTE);
        buf_puts(&one->sentence, "Clocks differ from the clock of ");
        buf_printable(&one->sentence, j->hosts[0].name, strlen(j->hosts[0].name));
        buf_puts(&one->sentence, ", and the times of these hosts are shifted: ");
        buf_puts(&one->sentence, names.data ? names.data : "");
        buf_puts(&one->evidence, "their ranks differ by as much at the start as at the end, ± ");
        human_seconds(&one->evidence, error);
        buf_puts(&one->evidence, "; they may also have started late");
    }
    buf_done(&names);
}
