/* SPDX-License-Identifier: MIT
 * Reads runs from records and directories. */
#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "sink/report/job.h"
#include "sink/words.h"
#include "study/study.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== Figures ================================================================================= */

/* How a figure is taken from a summary. */
enum figure_way { WAY_WALL, WAY_TOTAL, WAY_MEAN, WAY_P90, WAY_PEAK, WAY_MEMORY, WAY_ENERGY };

const struct study_figure_kind study_figures[STUDY_FIGURES] = {
    [FIGURE_WALL] = {"wall_seconds", "time", "Time", process_wall_seconds},
    [FIGURE_CPU] = {"cpu_seconds", "cpu", "CPU time", process_cpu_seconds},
    [FIGURE_CPU_USER] = {"cpu_user_seconds", NULL, "CPU time, user", process_cpu_user_seconds},
    [FIGURE_CPU_SYSTEM] = {"cpu_system_seconds", NULL, "CPU time, system",
                           process_cpu_system_seconds},
    [FIGURE_CORES_MEAN] = {"cpu_cores_mean", "cores", "Cores in use, mean", process_cpu_cores},
    [FIGURE_CORES_P90] = {"cpu_cores_p90", NULL, "Cores, 90th percentile", process_cpu_cores},
    [FIGURE_CPU_WAIT] = {"cpu_wait_seconds", NULL, "Waiting for a core", process_cpu_wait_seconds},
    [FIGURE_MEMORY_PEAK] = {"memory_peak_bytes", "memory_peak", "Peak memory",
                            process_memory_rss_bytes},
    [FIGURE_MEMORY_MEAN] = {"memory_mean_bytes", "memory_mean", "Memory, mean",
                            process_memory_rss_bytes},
    [FIGURE_PSS_PEAK] = {"memory_pss_peak_bytes", "memory_pss_peak", "Peak memory (PSS)",
                         process_memory_pss_bytes},
    [FIGURE_SWAP_PEAK] = {"memory_swap_peak_bytes", "memory_swap_peak", "Peak swap",
                          process_memory_swap_bytes},
    [FIGURE_STORAGE_READ] = {"storage_read_bytes", "disk_read", "Read from disk",
                             process_storage_read_bytes},
    [FIGURE_STORAGE_WRITTEN] = {"storage_written_bytes", "disk_written", "Written to disk",
                                process_storage_written_bytes},
    [FIGURE_IO_READ] = {"io_read_bytes", "io_read", "Read by calls", process_io_read_bytes},
    [FIGURE_IO_WRITTEN] = {"io_written_bytes", "io_written", "Written by calls",
                           process_io_written_bytes},
    [FIGURE_NETWORK_RECEIVED] = {"network_received_bytes", "network_received", "Received",
                                 process_network_received_bytes},
    [FIGURE_NETWORK_SENT] = {"network_sent_bytes", "network_sent", "Sent",
                             process_network_sent_bytes},
    [FIGURE_FAULTS_MAJOR] = {"faults_major_count", "faults_major", "Major page faults",
                             process_faults_major_count},
    [FIGURE_PROCESSES] = {"processes_started_count", "processes", "Processes started",
                          process_processes_started_count},
    [FIGURE_PROCESSES_PEAK] = {"processes_peak_count", "processes_peak", "Processes at once",
                               process_processes_count},
    [FIGURE_THREADS_PEAK] = {"threads_peak_count", "threads_peak", "Threads at once",
                             process_threads_count},
    [FIGURE_GPU_MEMORY_PEAK] = {"gpu_memory_peak_bytes", "gpu_memory_peak", "Peak GPU memory",
                                process_gpu_memory_bytes},
    [FIGURE_ENERGY] = {"energy_joules", "energy", "Energy of the machine", system_energy_joules},
};

static const enum figure_way figure_ways[STUDY_FIGURES] = {
    [FIGURE_WALL] = WAY_WALL,
    [FIGURE_CPU] = WAY_TOTAL,
    [FIGURE_CPU_USER] = WAY_TOTAL,
    [FIGURE_CPU_SYSTEM] = WAY_TOTAL,
    [FIGURE_CORES_MEAN] = WAY_MEAN,
    [FIGURE_CORES_P90] = WAY_P90,
    [FIGURE_CPU_WAIT] = WAY_TOTAL,
    [FIGURE_MEMORY_PEAK] = WAY_MEMORY,
    [FIGURE_MEMORY_MEAN] = WAY_MEAN,
    [FIGURE_PSS_PEAK] = WAY_PEAK,
    [FIGURE_SWAP_PEAK] = WAY_PEAK,
    [FIGURE_STORAGE_READ] = WAY_TOTAL,
    [FIGURE_STORAGE_WRITTEN] = WAY_TOTAL,
    [FIGURE_IO_READ] = WAY_TOTAL,
    [FIGURE_IO_WRITTEN] = WAY_TOTAL,
    [FIGURE_NETWORK_RECEIVED] = WAY_TOTAL,
    [FIGURE_NETWORK_SENT] = WAY_TOTAL,
    [FIGURE_FAULTS_MAJOR] = WAY_TOTAL,
    [FIGURE_PROCESSES] = WAY_TOTAL,
    [FIGURE_PROCESSES_PEAK] = WAY_PEAK,
    [FIGURE_THREADS_PEAK] = WAY_PEAK,
    [FIGURE_GPU_MEMORY_PEAK] = WAY_PEAK,
    [FIGURE_ENERGY] = WAY_ENERGY,
};

void study_put_number(struct buf *b, enum study_figure f, double value)
{
    const struct metric *m = metric_of(study_figures[f].unit);
    if (m->unit == UNIT_count && value < 100 && value != (double)(uint64_t)value)
        buf_double(b, value, 2); /* the mean of several runs */
    else
        human_number(b, m, value);
}

bool study_shows_zero(enum study_figure f, double value)
{
    struct buf b = {0};
    study_put_number(&b, f, value < 0 ? -value : value);
    bool is_zero = !buf_failed(&b) && !strpbrk(b.data, "123456789");
    buf_done(&b);
    return is_zero;
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return name && strlen(name) == length && memcmp(name, text, length) == 0;
}

int study_figure_find(const char *name, size_t length)
{
    for (int i = 0; i < STUDY_FIGURES; i++)
        if (is_name(study_figures[i].key, name, length) ||
            is_name(study_figures[i].short_key, name, length))
            return i;
    return -1;
}

/* A lower bound of zero says nothing. */
static struct study_value value_if_known(double value, enum quality q)
{
    if (q == QUALITY_LOWER_BOUND && value <= 0)
        q = QUALITY_UNKNOWN;
    return (struct study_value){q == QUALITY_UNKNOWN ? 0 : value, q};
}

static struct study_value figure_take(const struct summary *s, enum study_figure f)
{
    enum metric_id id = study_figures[f].unit;
    if (figure_ways[f] == WAY_WALL)
        return (struct study_value){(double)s->elapsed_ns / 1e9, QUALITY_EXACT};
    if (figure_ways[f] == WAY_ENERGY) {
        struct energy energy = s->energy ? *s->energy : energy_of(s);
        if (!energy.knows_processors || (energy.has_gpus && !energy.knows_gpus))
            return (struct study_value){0};
        return value_if_known(energy.processors_joules + energy.gpus_joules,
                              energy.has_gpus ? energy.gpus_quality : QUALITY_EXACT);
    }
    if (!s->has_target)
        return (struct study_value){0};
    if (figure_ways[f] == WAY_MEMORY) {
        struct memory_peak peak = summary_memory_peak(s, UINT64_MAX);
        return value_if_known(peak.bytes, peak.quality);
    }
    const struct metric *m = metric_of(id);
    const struct series *series = &s->whole.series[PART_COMBINED][id];
    enum quality q = s->whole.provenance[PART_COMBINED][id].quality;
    double p90 = 0;
    if (figure_ways[f] == WAY_TOTAL) /* known without a rate, too: the run may have been short */
        return value_if_known(metric_number(m, series->last), q);
    if (!series->count)
        return (struct study_value){0};
    switch (figure_ways[f]) {
    case WAY_MEAN: return value_if_known(series_mean(series, m), q);
    case WAY_P90:
        return series_quantile(series, m, 0.9, &p90) ? value_if_known(p90, q)
                                                     : (struct study_value){0};
    default: return value_if_known(series->max, q);
    }
}

/* ==== One run ================================================================================= */

void study_run_done(struct study_run *r)
{
    char **lists[] = {r->command, r->labels};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (char **word = lists[i]; word && *word; word++)
            free(*word);
        free(lists[i]);
    }
    for (size_t i = 0; i < r->phase_count; i++)
        free(r->phases[i].name);
    free(r->phases);
    free(r->gpus);
    free(r->path);
    free(r->id);
    free(r->name);
    free(r->host);
    *r = (struct study_run){0};
}

void study_runs_done(struct study_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        study_run_done(&runs->items[i]);
    free(runs->items);
    *runs = (struct study_runs){0};
}

static char *copy_text(const char *text, bool *failed)
{
    char *copy = strdup(text ? text : "");
    *failed |= !copy;
    return copy;
}

static char **copy_words(char *const *words, bool *failed)
{
    size_t count = 0;
    while (words && words[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    *failed |= !copy;
    for (size_t i = 0; copy && i < count && !*failed; i++)
        copy[i] = copy_text(words[i], failed);
    return copy;
}

static struct study_value phase_value(const struct phase_total *p, enum metric_id id)
{
    struct phase_figure f = phase_total_figure(p, id);
    double value = metric_of(id)->kind == METRIC_COUNTER ? f.total : f.max;
    return value_if_known(value, value < 0 ? QUALITY_UNKNOWN : f.quality);
}

static void copy_phases(struct study_run *r, const struct mark_totals *marks, bool *failed)
{
    r->phases = calloc(marks->phase_count + 1, sizeof *r->phases);
    *failed |= !r->phases;
    for (size_t i = 0; i < marks->phase_count && !*failed; i++) {
        const struct phase_total *p = &marks->phases[i];
        r->phases[r->phase_count++] = (struct study_phase){
            .name = copy_text(p->name, failed),
            .count = p->count,
            .wall = {(double)p->total_ns / 1e9, QUALITY_EXACT},
            .cpu = phase_value(p, process_cpu_seconds),
            .memory_peak = phase_value(p, process_memory_rss_bytes),
        };
    }
}

/* Limits, and how far the job was held back by them. */
static void copy_limits(struct study_run *r, const struct summary *s)
{
    const struct limit *cpus = &s->whole.limits.of[LIMIT_CPUS];
    const struct limit *memory = &s->whole.limits.of[LIMIT_MEMORY_BYTES];
    r->cpus = s->run->cpus;
    r->cores_allowed = cpus->known && !cpus->unlimited ? cpus->cores : s->run->cpus;
    if (memory->known && !memory->unlimited && memory->by && strcmp(memory->by, "machine") == 0)
        r->memory_machine = (double)memory->value;
    else if (memory->known && !memory->unlimited)
        r->memory_limit = (double)memory->value;
    r->memory_limit_hit = r->memory_limit > 0 && memory->reached &&
                          strcmp(memory->reached, "OOM killer") == 0;
    for (size_t i = 0; i < s->instance_count; i++) {
        const struct instance_summary *m = &s->instances[i];
        if (m->instance->entity.kind != ENTITY_CGROUP)
            continue;
        const struct series *series = &m->series[cgroup_cpu_throttled_seconds - cgroup_first];
        double seconds = series->observed_ns
                             ? metric_number(metric_of(cgroup_cpu_throttled_seconds), series->last)
                             : 0;
        if (seconds > r->throttled_seconds) /* of the cgroup that was held back most */
            r->throttled_seconds = seconds;
    }
}

/* ---- What has to be seen sample by sample ---------------------------------------------------- */

struct gpu_watch {
    unsigned instance;
    struct study_gpu gpu;
    double busy_seconds;
};

struct run_watch {
    uint64_t samples;
    uint64_t last_rss;
    bool has_rss;
    double rise;
    struct gpu_watch *gpus; /* owned */
    size_t gpu_count, gpu_capacity;
    bool has_failed;
};

#define GPU_BUSY_ABOVE 0.05

static struct gpu_watch *watch_gpu(struct run_watch *w, const struct instance *m)
{
    for (size_t i = 0; i < w->gpu_count; i++)
        if (w->gpus[i].instance == m->number)
            return &w->gpus[i];
    if (!ARRAY_RESERVE(w->gpus, w->gpu_capacity, w->gpu_count + 1)) {
        w->has_failed = true;
        return NULL;
    }
    struct gpu_watch *g = &w->gpus[w->gpu_count++];
    *g = (struct gpu_watch){.instance = m->number};
    snprintf(g->gpu.name, sizeof g->gpu.name, "%s", entity_name(&m->entity));
    return g;
}

static void watch_frame(struct run_watch *w, const struct frame *f)
{
    const struct row *row = f->target[PART_COMBINED].row;
    double seconds = (double)f->interval_ns / 1e9;
    w->samples++;
    if (row && row_has(row, process_memory_rss_bytes)) {
        uint64_t rss = row_value(row, process_memory_rss_bytes).u;
        if (w->has_rss && rss > w->last_rss && (double)(rss - w->last_rss) > w->rise)
            w->rise = (double)(rss - w->last_rss);
        w->last_rss = rss;
        w->has_rss = true;
    }
    for (size_t i = 0; i < f->machine_count; i++) {
        const struct instance *m = f->machine[i];
        struct gpu_watch *g = m->entity.kind == ENTITY_GPU ? watch_gpu(w, m) : NULL;
        if (!g)
            continue;
        if (row_has(&m->row, gpu_utilization_ratio)) {
            double busy = metric_number(metric_of(gpu_utilization_ratio),
                                        row_value(&m->row, gpu_utilization_ratio));
            g->gpu.known_seconds += seconds;
            g->busy_seconds += busy > GPU_BUSY_ABOVE ? seconds : 0;
        }
        if (row_has(&m->row, gpu_memory_used_bytes)) {
            double used = (double)row_value(&m->row, gpu_memory_used_bytes).u;
            g->gpu.memory_peak_bytes = used > g->gpu.memory_peak_bytes ? used
                                                                       : g->gpu.memory_peak_bytes;
        }
    }
}

static void copy_gpus(struct study_run *r, const struct run_watch *w, bool *failed)
{
    r->gpus = calloc(w->gpu_count + 1, sizeof *r->gpus);
    *failed |= !r->gpus;
    for (size_t i = 0; i < w->gpu_count && !*failed; i++) {
        const struct gpu_watch *g = &w->gpus[i];
        r->gpus[i] = g->gpu;
        r->gpus[i].busy_share = g->gpu.known_seconds > 0 ? g->busy_seconds / g->gpu.known_seconds
                                                         : 0;
        r->gpu_count++;
    }
}

/* Its end is not in the record, which was cut short or still grows. */
static bool item_lacks_end(const struct record_item *item)
{
    const struct toll_end *end = &item->summary->whole.end;
    return item->cut_short || (end->unknown && !end->ended);
}

/* False without memory. */
static bool run_copy(struct study_run *ret, const char *path, const struct record_item *item,
                     const struct run_watch *w)
{
    const struct summary *s = item->summary;
    const struct run *run = item->run;
    bool failed = w->has_failed;
    *ret = (struct study_run){
        .path = copy_text(path, &failed),
        .number = item->number,
        .id = copy_text(run->id, &failed),
        .name = copy_text(run->name, &failed),
        .host = copy_text(run->host, &failed),
        .parallel = run->parallel,
        .job = run->job,
        .command = copy_words(run->command, &failed),
        .labels = copy_words(run->labels, &failed),
        .start_ns = run->start_real_ns,
        .elapsed_ns = s->elapsed_ns,
        .samples = w->samples,
        .end = s->whole.end,
        .cut_short = item_lacks_end(item),
        .has_target = s->has_target,
        .memory_rise = w->rise,
    };
    copy_limits(ret, s);
    copy_phases(ret, &s->marks, &failed);
    copy_gpus(ret, w, &failed);
    for (unsigned i = 0; i < STUDY_FIGURES; i++)
        ret->figures[i] = figure_take(s, i);
    if (ret->cut_short) /* it took longer than the record shows */
        ret->figures[FIGURE_WALL] = value_if_known(ret->figures[FIGURE_WALL].value,
                                                   QUALITY_LOWER_BOUND);
    if (failed)
        study_run_done(ret);
    return !failed;
}

/* ==== Records ================================================================================= */

static bool run_has_label(const struct run *r, const char *wanted)
{
    size_t length = strlen(wanted);
    bool has_value = strchr(wanted, '=');
    for (char **label = r->labels; label && *label; label++)
        if (strncmp(*label, wanted, length) == 0 && (*label)[length] == (has_value ? '\0' : '='))
            return true;
    return false;
}

static bool filter_matches(const struct study_filter *f, const struct record_item *item)
{
    const struct run *r = item->run;
    if (!f)
        return true;
    for (const char *const *label = f->labels; label && *label; label++)
        if (!run_has_label(r, *label))
            return false;
    if (f->name && fnmatch(f->name, r->name ? r->name : "", 0) != 0)
        return false;
    return (!f->number || f->number == item->number) &&
           (!f->id || strcmp(r->id, f->id) == 0 || ends_with(r->id, f->id)) &&
           r->start_real_ns >= f->since_ns;
}

bool study_add_summary(struct study_runs *runs, const struct summary *s)
{
    const struct record_item item = {
        .kind = RECORD_SUMMARY, .number = 1, .run = s->run, .summary = s};
    const struct run_watch none = {0};
    if (!ARRAY_RESERVE(runs->items, runs->capacity, runs->count + 1) ||
        !run_copy(&runs->items[runs->count], "", &item, &none))
        return false;
    runs->count++;
    return true;
}

/* The number of the run with this id; runs->count: it is not there yet. */
static size_t runs_find(const struct study_runs *runs, const char *id)
{
    for (size_t i = 0; *id && i < runs->count; i++)
        if (strcmp(runs->items[i].id, id) == 0)
            return i;
    return runs->count;
}

static void runs_drop(struct study_runs *runs, size_t i, const struct study_hook *hook)
{
    if (hook)
        hook->drop(hook->arg, &runs->items[i], i);
    study_run_done(&runs->items[i]);
    runs->count--;
    memmove(&runs->items[i], &runs->items[i + 1], (runs->count - i) * sizeof *runs->items);
}

static int add_record(struct study_runs *runs, const char *path, const struct study_filter *filter,
                      const struct study_hook *hook, struct toll_error *e)
{
    struct record_reader *reader = NULL;
    struct record_item item;
    struct run_watch watch = {0};
    bool is_wanted = false, is_open = false;
    int r = record_reader_open(&reader, path, e);
    runs->records += r == 0;
    while (r == 0 && (r = record_reader_next(reader, &item, e)) > 0) {
        r = 0;
        if (item.kind == RECORD_RUN) {
            free(watch.gpus);
            watch = (struct run_watch){0};
            runs->seen++;
            is_open = true;
            size_t copy = runs_find(runs, item.run->id);
            is_wanted = filter_matches(filter, &item) &&
                        (copy == runs->count || runs->items[copy].cut_short);
        }
        is_open &= item.kind != RECORD_SUMMARY;
        if (!is_wanted)
            continue;
        if (item.kind == RECORD_FRAME)
            watch_frame(&watch, item.frame);
        size_t copy = item.kind == RECORD_SUMMARY ? runs_find(runs, item.run->id) : runs->count;
        if (copy < runs->count && item_lacks_end(&item))
            continue;
        if (copy < runs->count)
            runs_drop(runs, copy, hook);
        if (hook)
            hook->item(hook->arg, &item);
        if (item.kind != RECORD_SUMMARY || (filter && filter->only_finished && item.cut_short))
            continue;
        if (!ARRAY_RESERVE(runs->items, runs->capacity, runs->count + 1) ||
            !run_copy(&runs->items[runs->count], path, &item, &watch))
            r = err_set(e, -ENOMEM, "cannot read '%s': out of memory", path);
        else
            runs->count++;
    }
    runs->seen -= r < 0 && is_open; /* it could not be read */
    free(watch.gpus);
    record_reader_free(reader);
    return r;
}

/* ---- Directories ----------------------------------------------------------------------------- */

static int add_directory(struct study_runs *runs, const char *path,
                         const struct study_filter *filter, const struct study_hook *hook,
                         void (*note)(void *arg, const char *sentence), void *note_arg,
                         struct toll_error *e)
{
    CLEANUP_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char **names = NULL;
    bool has_failed = false;
    int r = dir < 0 ? -errno : file_list_records(dir, &names);
    if (r < 0)
        return err_set(e, r, "cannot read directory '%s': %s", path, strerror(-r));
    if (!names || !*names) {
        free(names);
        return err_set(e, -ENOENT, "no records in '%s' (expected *.jsonl, *.sqlite or *.db)", path);
    }
    for (char **name = names; *name; name++) {
        struct buf whole = {0};
        struct toll_error why = {0};
        file_put_path(&whole, path, *name);
        if (buf_failed(&whole))
            has_failed = true;
        else if (add_record(runs, whole.data, filter, hook, &why) < 0 && note)
            note(note_arg, why.message);
        buf_done(&whole);
        free(*name);
    }
    free(names);
    return has_failed ? err_set(e, -ENOMEM, "cannot read '%s': out of memory", path) : 0;
}

int study_add(struct study_runs *runs, const char *path, const struct study_filter *filter,
              const struct study_hook *hook, void (*note)(void *arg, const char *sentence),
              void *note_arg, struct toll_error *e)
{
    return file_is_directory(path) ? add_directory(runs, path, filter, hook, note, note_arg, e)
                                   : add_record(runs, path, filter, hook, e);
}

static int compare_starts(const void *left, const void *right)
{
    const struct study_run *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    int order = strcmp(a->path, b->path);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

void study_sort(struct study_runs *runs)
{
    if (runs->count)
        qsort(runs->items, runs->count, sizeof *runs->items, compare_starts);
}

/* ==== Job ===================================================================================== */

/* The ranks of parallel jobs, from their records: which belong together, and what each used over
 * time. */

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
        struct scan ranks = scan_string(newest->parallel.world_size);
        uint64_t number;
        ret->world_size = scan_u64(&ranks, &number) ? number : 0;
    }
    if (result == 0 && members > 1)
        result = ret->ranks && report_job_finish(ret) ? 1 : -ENOMEM;
    if (result < 0)
        report_job_done(ret);
    free(places);
    return result;
}
