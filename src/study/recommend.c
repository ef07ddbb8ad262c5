/* SPDX-License-Identifier: MIT
 * toll_recommend: what to request for the next run of a job, for people, tools and programs. What
 * it is, advice.c decides. */
#include "base/err.h"
#include "base/memory.h"
#include "base/text/json.h"
#include "sink/words.h"
#include "study/study.h"

#include <stdio.h>
#include <string.h>

#define MIB (1024.0 * 1024)

/* ==== For people ============================================================================== */

/* Texts are written with UTF-8 and made plain where that is not wanted. */
static void put_symbol(struct buf *b, unsigned flags, const char *symbol, const char *plain)
{
    buf_puts(b, flags & TOLL_OUTPUT_ASCII ? plain : symbol);
}

static void put_times(struct buf *b, unsigned flags, double factor)
{
    buf_double(b, factor, 1);
    put_symbol(b, flags, " × ", " x ");
}

static void put_bound(struct buf *b, unsigned flags, bool is_least)
{
    if (is_least)
        put_symbol(b, flags, "≥\x1f", ">=\x1f"); /* UNBROKEN */
}

static void put_minutes(struct buf *b, uint64_t seconds)
{
    uint64_t hours = seconds / 3600, minutes = seconds / 60 % 60;
    if (hours)
        buf_printf(b, "%llu hour%s", (unsigned long long)hours, hours == 1 ? "" : "s");
    if (minutes || !hours)
        buf_printf(b, "%s%llu minutes", hours ? " " : "", (unsigned long long)minutes);
}

static void put_count(struct buf *b, size_t count, const char *one, const char *many)
{
    buf_printf(b, "%zu %s", count, count == 1 ? one : many);
}

/* For people, without a place where a line may be broken. */
static void put_size(struct buf *b, double bytes)
{
    size_t start = b->length;
    buf_bytes(b, bytes);
    for (size_t i = start; i < b->length; i++)
        b->data[i] = b->data[i] == ' ' ? UNBROKEN : b->data[i];
}

static void put_duration(struct buf *b, double seconds)
{
    size_t start = b->length;
    buf_duration(b, seconds);
    for (size_t i = start; i < b->length; i++)
        b->data[i] = b->data[i] == ' ' ? UNBROKEN : b->data[i];
}

/* " (1.5 GiB to 1.6 GiB)", unless both ends read the same. */
static void put_range(struct buf *b, const struct study_range *range,
                      void (*put)(struct buf *b, double value))
{
    struct buf least = {0}, most = {0};
    put(&least, range->least);
    put(&most, range->most);
    if (range->count > 1 && !buf_failed(&least) && !buf_failed(&most) &&
        strcmp(least.data, most.data) != 0)
        buf_printf(b, " (%s to %s)", least.data, most.data);
    b->failed |= least.failed || most.failed;
    buf_done(&least);
    buf_done(&most);
}

static void put_cores(struct buf *b, double cores)
{
    buf_double(b, cores, 2);
}

/* Words with commas between and "and" before the last. */
struct word_list {
    struct buf words[4];
    size_t count;
};

static void list_put(struct word_list *l, struct buf *b)
{
    for (size_t i = 0; i < l->count; i++) {
        buf_puts(b, i == 0 ? "" : i + 1 < l->count ? ", " : " and ");
        if (l->words[i].data)
            buf_add(b, l->words[i].data, l->words[i].length);
        b->failed |= l->words[i].failed;
        buf_done(&l->words[i]);
    }
}

/* "2 failed, 1 cut short" */
static void put_not_counted(struct buf *b, const struct study_advice *a)
{
    const struct {
        size_t count;
        const char *what;
    } groups[] = {
        {a->failed, "failed"},
        {a->cut_short, "cut short"},
        {a->left_running, "still running"},
        {a->older, "older than the last 20"},
    };
    const char *comma = "";
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        if (groups[i].count) {
            buf_printf(b, "%s%zu %s", comma, groups[i].count, groups[i].what);
            comma = ", ";
        }
}

static bool has_advice(const struct study_advice *a)
{
    return a->cpus || a->memory_bytes > 0 || a->seconds || a->gpus;
}

/* " of 'train'" */
static void put_job_name(struct buf *b, const struct study_advice *a)
{
    enum { LONGEST = 60 };
    const char *name = a->newest->name;
    if (!*name) {
        buf_puts(b, " without a name");
        return;
    }
    size_t length = strlen(name), fits = utf8_fitting(name, length, LONGEST);
    buf_puts(b, " of '");
    buf_printable(b, name, fits);
    buf_puts(b, fits < length ? "...'" : "'");
}

/* "weak: from 2 runs of 'train'" */
static void put_basis(struct buf *b, const struct study_advice *a)
{
    buf_puts(b, a->runs < ADVICE_STRONG ? "weak: from " : "from ");
    if (a->runs)
        put_count(b, a->runs, "run", "runs");
    else
        put_count(b, a->oom_killed + a->timed_out, "unfinished run", "unfinished runs");
    put_job_name(b, a);
}

static void put_no_advice(struct buf *b, const struct study_advice *a)
{
    buf_puts(b, "no finished run");
    put_job_name(b, a);
    if (a->failed || a->cut_short || a->left_running) {
        buf_puts(b, " (");
        put_not_counted(b, a);
        buf_putc(b, ')');
    }
}

static void put_answer(struct buf *b, const struct study_advice *a)
{
    struct word_list l = {0};
    if (a->cpus) {
        put_count(&l.words[l.count], a->cpus, "CPU", "CPUs");
        buf_puts(&l.words[l.count++], a->more_would_help ? " (more would help)" : "");
    }
    if (a->memory_bytes > 0) {
        bool is_large = a->memory_bytes >= 10000 * MIB; /* as pasted: "2400 MiB", "12 GiB" */
        buf_printf(&l.words[l.count++], "%s%llu %s of memory",
                   a->memory_is_least ? "at least " : "",
                   (unsigned long long)(a->memory_bytes / (is_large ? 1024 * MIB : MIB)),
                   is_large ? "GiB" : "MiB");
    }
    if (a->gpus)
        put_count(&l.words[l.count++], a->gpus, "GPU", "GPUs");
    if (a->seconds) {
        buf_puts(&l.words[l.count], a->seconds_is_least ? "at least " : "");
        put_minutes(&l.words[l.count++], a->seconds);
    }
    buf_puts(b, "Ask for ");
    list_put(&l, b);
    buf_puts(b, " (");
    put_basis(b, a);
    buf_puts(b, ").");
}

static void explain_cpus(struct buf *b, const struct study_advice *a, unsigned flags)
{
    if (!a->cpus) {
        buf_puts(b, a->runs ? "unknown: too short to be sampled, or not measured"
                            : "unknown: no run has finished");
        return;
    }
    put_bound(b, flags, a->cores.is_least);
    if (a->cores.most < 0.005) /* it would be written as 0 */
        buf_puts(b, "0.01");
    else
        put_cores(b, a->cores.most);
    buf_printf(b, " core%s or fewer in use 90 %% of the time",
               a->cores.most > 0.995 && a->cores.most < 1.005 ? "" : "s");
    put_range(b, &a->cores, put_cores);
    if (a->starved_share > 0)
        buf_printf(b,
                   "; the machine was busy (waiting for a core took %llu %% of the CPU time), "
                   "on an idle one the job may use more",
                   (unsigned long long)(a->starved_share * 100 + 0.5));
    if (!a->more_would_help)
        return;
    buf_puts(b, "; nearly all of the ");
    put_cores(b, a->cores_allowed);
    buf_puts(b, " allowed, and ");
    bool is_throttled = a->throttled_share > a->wait_share;
    double share = is_throttled ? a->throttled_share : a->wait_share;
    buf_printf(b, "%s %llu %% of the CPU time: more would help",
               is_throttled ? "throttled for" : "waiting for a core took",
               (unsigned long long)(share * 100 + 0.5));
}

static void explain_memory(struct buf *b, const struct study_advice *a, unsigned flags)
{
    if (a->memory_bytes <= 0)
        buf_puts(b, "unknown: too short to be sampled, or not measured");
    else if (a->oom_decides) {
        double more = ADVICE_OOM * a->oom_limit;
        if (more > a->oom_limit + ADVICE_OOM_MORE)
            put_times(b, flags, ADVICE_OOM);
        put_size(b, a->oom_limit);
        buf_puts(b, more > a->oom_limit + ADVICE_OOM_MORE ? "" : " + 100 MiB");
        buf_puts(b, a->oom_limit_known ? ", the limit at which the OOM killer ended "
                                       : ", the peak at which the OOM killer ended ");
        put_count(b, a->oom_killed, "run", "runs");
        if (a->peaks.count) {
            buf_puts(b, "; largest peak otherwise ");
            put_bound(b, flags, a->peaks.is_least);
            put_size(b, a->peaks.most);
        }
    } else {
        put_times(b, flags, a->memory_factor);
        put_bound(b, flags, a->peaks.is_least);
        put_size(b, a->peaks.most);
        if (a->peaks.count > 1)
            buf_printf(b, ", the largest peak of %zu runs", a->peaks.count);
        else
            buf_puts(b, ", the peak of one run");
        put_range(b, &a->peaks, put_size);
        if (a->memory_rise > 0) {
            buf_puts(b, ", + ");
            put_size(b, a->memory_rise);
            buf_puts(b, ", the largest rise between two samples");
        }
        buf_puts(b, ", rounded up");
        if (a->oom_killed) {
            buf_puts(b, "; the OOM killer ended ");
            put_count(b, a->oom_killed, "run", "runs");
            buf_puts(b, " with less");
        }
    }
    if (a->memory_bytes > 0 && a->peaks_unknown) {
        buf_puts(b, "; unknown in ");
        put_count(b, a->peaks_unknown, "run", "runs");
    }
}

static void explain_time(struct buf *b, const struct study_advice *a, unsigned flags)
{
    put_times(b, flags, ADVICE_TIME);
    if (a->seconds_is_least) {
        put_bound(b, flags, true);
        put_duration(b, a->timed_out_seconds);
        buf_puts(b, ", after which a run was ended");
        if (a->times.count) {
            buf_puts(b, " (those that finished: ");
            put_duration(b, a->times.most);
            buf_puts(b, " at most)");
        }
    } else {
        put_duration(b, a->times.most);
        if (a->times.count > 1)
            buf_printf(b, ", the longest of %zu runs", a->times.count);
        else
            buf_puts(b, ", the length of one run");
        put_range(b, &a->times, put_duration);
    }
    buf_puts(b, ", rounded up to 15 minutes");
    if (a->timed_out && !a->seconds_is_least) {
        buf_puts(b, "; ");
        put_count(b, a->timed_out, "run", "runs");
        buf_puts(b, " timed out earlier");
    }
}

static void explain_gpus(struct buf *b, const struct study_advice *a, unsigned flags)
{
    if (!a->knows_gpus)
        buf_puts(b, "unknown: the driver does not report how busy they are");
    else
        buf_printf(b, "%u of %u busy more than 5 %% of the time", a->gpus, a->gpus_seen);
    if (a->gpu_memory.count) {
        buf_puts(b, "; peak GPU memory ");
        put_bound(b, flags, a->gpu_memory.is_least);
        put_size(b, a->gpu_memory.most);
    }
}

static void recommend_text(struct buf *out, const struct study_advice *a, unsigned flags,
                           unsigned columns)
{
    struct sink page = {.columns = columns, .flags = flags};
    struct buf b = {0};
    if (!has_advice(a)) {
        buf_puts(&b, "No recommendation: ");
        put_no_advice(&b, a);
        buf_putc(&b, '.');
        text_paragraph_done(&page, "", &b);
    } else {
        put_answer(&b, a);
        text_paragraph_done(&page, "", &b);
        explain_cpus(&b, a, flags);
        text_paragraph_done(&page, "  CPUs    ", &b);
        explain_memory(&b, a, flags);
        text_paragraph_done(&page, "  Memory  ", &b);
        if (a->has_gpus) {
            explain_gpus(&b, a, flags);
            text_paragraph_done(&page, "  GPUs    ", &b);
        }
        if (a->seconds) {
            explain_time(&b, a, flags);
            text_paragraph_done(&page, "  Time    ", &b);
        }
        put_not_counted(&b, a);
        if (b.length)
            buf_puts(&b, " (not counted)");
        text_paragraph_done(&page, "  Others  ", &b);
        if (a->status_unknown) {
            buf_puts(&b, "exit status of ");
            put_count(&b, a->status_unknown, "run", "runs");
            buf_puts(&b, " unknown");
        }
        if (a->commands > 1)
            buf_printf(&b,
                       "%s%zu different commands in these runs ('toll run --name' gives each job "
                       "a different name)",
                       b.length ? "; " : "", a->commands);
        text_paragraph_done(&page, "  Note    ", &b);
    }
    out->failed |= page.text.failed;
    if (page.text.data)
        buf_add(out, page.text.data, page.text.length);
    buf_done(&page.text);
}

/* ==== For tools =============================================================================== */

/* What may be in a piece of a tool's text: {cpus} and so on. */
enum blank {
    BLANK_CPUS,
    BLANK_QUOTA,
    BLANK_MIB,
    BLANK_MB,
    BLANK_GPUS,
    BLANK_GPU_RESOURCE,
    BLANK_SECONDS,
    BLANK_MINUTES,
    BLANK_CLOCK,
    BLANK_TIME,
    BLANKS
};

static const char *const blank_names[BLANKS] = {
    [BLANK_CPUS] = "{cpus}",       [BLANK_QUOTA] = "{quota}",
    [BLANK_MIB] = "{mib}",         [BLANK_MB] = "{mb}",
    [BLANK_GPUS] = "{gpus}",       [BLANK_GPU_RESOURCE] = "{gpu resource}",
    [BLANK_SECONDS] = "{seconds}", [BLANK_MINUTES] = "{minutes}",
    [BLANK_CLOCK] = "{hh:mm:ss}",  [BLANK_TIME] = "{time}",
};

enum { TOOL_PIECES = 10 };

/* The lines to paste. A piece with a blank is left out if its value is not known. */
struct tool {
    const char *name;
    const char *comment;
    const char *pieces[TOOL_PIECES];
};

static const struct tool tools[] = {
    /* sbatch(1): M is MiB */
    {"sbatch",
     "# ",
     {"#SBATCH --cpus-per-task={cpus}\n", "#SBATCH --mem={mib}M\n", "#SBATCH --gpus={gpus}\n",
      "#SBATCH --time={hh:mm:ss}\n"}},
    /* Requests that equal the limits make the pod "Guaranteed". */
    {"kubernetes",
     "# ",
     {"resources:\n  requests:\n", "    cpu: \"{cpus}\"\n", "    memory: {mib}Mi\n", "  limits:\n",
      "    cpu: \"{cpus}\"\n", "    memory: {mib}Mi\n", "    {gpu resource}\n",
      "# in the spec of the Job or Pod: activeDeadlineSeconds: {seconds}\n"}},
    /* m is MiB */
    {"docker",
     "# ",
     {"# {time}: docker has no time limit\n", "docker run", " --cpus={cpus}", " --memory={mib}m",
      " --gpus={gpus}", "\n"}},
    /* systemd.resource-control(5): M is MiB; a quota of 200 % is two CPUs */
    {"systemd",
     "# ",
     {"# GPUs: {gpus} (systemd does not assign GPUs)\n", "systemd-run", " -p CPUQuota={quota}%",
      " -p MemoryMax={mib}M", " -p RuntimeMaxSec={seconds}", "\n"}},
    /* MB is MiB here */
    {"nextflow",
     "// ",
     {"process {\n", "    cpus = {cpus}\n", "    memory = '{mib} MB'\n",
      "    accelerator = {gpus}\n", "    time = '{minutes} min'\n", "}\n"}},
    /* Whether MB is 10^6 or 2^20 bytes depends on the executor: the larger number suits both. */
    {"snakemake",
     "# ",
     {"threads: {cpus}\n", "resources:\n", "    mem_mb={mb},\n", "    gpu={gpus},\n",
      "    runtime={minutes},\n"}},
    /* MiB and seconds */
    {"cwl",
     "# ",
     {"# GPUs: {gpus} (CWL has no field for GPUs)\n", "requirements:\n  ResourceRequirement:\n",
      "    coresMin: {cpus}\n", "    ramMin: {mib}\n",
      "  ToolTimeLimit:\n    timelimit: {seconds}\n"}},
    /* M is MiB */
    {"condor",
     "# ",
     {"request_cpus = {cpus}\n", "request_memory = {mib}M\n", "request_gpus = {gpus}\n",
      "allowed_job_duration = {seconds}\n"}},
};

static const struct tool *tool_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

/* The name under which a device plugin of Kubernetes offers GPUs of the vendor. */
static const char *gpu_resource(const struct study_advice *a)
{
    const char *name = a->gpu_name ? a->gpu_name : "";
    return strncmp(name, "amd", 3) == 0     ? "amd.com/gpu"
           : strncmp(name, "intel", 5) == 0 ? "gpu.intel.com/i915"
                                            : "nvidia.com/gpu";
}

/* False: it is not known. */
static bool put_blank(struct buf *b, const struct study_advice *a, enum blank blank)
{
    uint64_t mib = (uint64_t)(a->memory_bytes / MIB), seconds = a->seconds;
    switch (blank) {
    case BLANK_CPUS: buf_u64(b, a->cpus); return a->cpus;
    case BLANK_QUOTA: buf_u64(b, (uint64_t)a->cpus * 100); return a->cpus;
    case BLANK_MIB: buf_u64(b, mib); return mib;
    case BLANK_MB: buf_u64(b, (uint64_t)(study_round_up(a->memory_bytes, 1e6) / 1e6)); return mib;
    case BLANK_GPUS: buf_u64(b, a->gpus); return a->gpus;
    case BLANK_GPU_RESOURCE: buf_printf(b, "%s: %u", gpu_resource(a), a->gpus); return a->gpus;
    case BLANK_SECONDS: buf_u64(b, seconds); return seconds;
    case BLANK_MINUTES: buf_u64(b, seconds / 60); return seconds;
    case BLANK_CLOCK:
        buf_printf(b, "%02llu:%02llu:00", (unsigned long long)(seconds / 3600),
                   (unsigned long long)(seconds / 60 % 60));
        return seconds;
    case BLANK_TIME: put_minutes(b, seconds); return seconds;
    case BLANKS: break;
    }
    return false;
}

static void put_piece(struct buf *out, const struct study_advice *a, const char *piece)
{
    for (unsigned i = 0; i < BLANKS; i++) {
        const char *at = strstr(piece, blank_names[i]);
        struct buf value = {0};
        if (!at)
            continue;
        if (put_blank(&value, a, i) && !buf_failed(&value)) {
            buf_add(out, piece, (size_t)(at - piece));
            buf_add(out, value.data, value.length);
            buf_puts(out, at + strlen(blank_names[i]));
        }
        out->failed |= value.failed;
        buf_done(&value);
        return;
    }
    buf_puts(out, piece);
}

static void recommend_for_tool(struct buf *out, const struct study_advice *a,
                               const struct tool *tool)
{
    buf_puts(out, tool->comment);
    if (!has_advice(a)) {
        put_no_advice(out, a);
        buf_putc(out, '\n');
        return;
    }
    put_basis(out, a);
    buf_putc(out, '\n');
    const struct {
        bool holds;
        const char *remark;
    } remarks[] = {
        {!a->cpus, "CPUs: unknown"},
        {a->more_would_help, "more CPUs would help"},
        {a->starved_share > 0, "CPUs: the machine was busy; on an idle one the job may use more"},
        {a->memory_bytes <= 0, "memory: unknown"},
        {a->memory_bytes > 0 && a->memory_is_least, "memory: at least this"},
        {a->has_gpus && !a->knows_gpus, "GPUs: unknown"},
        {!a->seconds, "time: unknown"},
        {a->seconds && a->seconds_is_least, "time: at least this"},
    };
    for (size_t i = 0; i < ARRAY_LEN(remarks); i++)
        if (remarks[i].holds)
            buf_printf(out, "%s%s\n", tool->comment, remarks[i].remark);
    for (size_t i = 0; i < TOOL_PIECES && tool->pieces[i]; i++)
        put_piece(out, a, tool->pieces[i]);
}

/* ==== For programs ============================================================================ */

static void json_put_known(struct json_out *j, const char *key, bool is_known, double value,
                           unsigned decimals)
{
    json_key(j, key);
    if (is_known)
        json_double(j, value, decimals);
    else
        json_null(j);
}

static void json_put_range(struct json_out *j, const struct study_range *range, const char *least,
                           const char *most, unsigned decimals)
{
    json_put_known(j, least, range->count, range->least, decimals);
    json_put_known(j, most, range->count, range->most, decimals);
}

static void recommend_json(struct json_out *j, const struct study_advice *a)
{
    json_object(j);
    json_put_string(j, "name", a->newest->name);
    json_put_bool(j, "weak", a->runs < ADVICE_STRONG);
    json_put_object(j, "runs");
    json_put_u64(j, "finished", a->runs);
    json_put_u64(j, "oom_killed", a->oom_killed);
    json_put_u64(j, "timed_out", a->timed_out);
    json_put_u64(j, "failed", a->failed);
    json_put_u64(j, "cut_short", a->cut_short);
    json_put_u64(j, "left_running", a->left_running);
    json_put_u64(j, "older", a->older);
    json_put_u64(j, "exit_status_unknown", a->status_unknown);
    json_put_u64(j, "different_commands", a->commands);
    json_object_end(j);

    json_put_object(j, "cpus");
    json_put_known(j, "request", a->cpus, a->cpus, 0);
    json_put_bool(j, "lower_bound", a->cores.is_least);
    json_put_bool(j, "more_would_help", a->more_would_help);
    json_put_u64(j, "runs", a->cores.count);
    json_put_range(j, &a->cores, "p90_least_cores", "p90_most_cores", 6);
    json_put_known(j, "allowed_cores", a->more_would_help, a->cores_allowed, 6);
    json_put_known(j, "waiting_ratio", a->more_would_help, a->wait_share, 6);
    json_put_known(j, "throttled_ratio", a->more_would_help, a->throttled_share, 6);
    json_object_end(j);

    json_put_object(j, "memory");
    json_put_known(j, "request_bytes", a->memory_bytes > 0, a->memory_bytes, 0);
    json_put_bool(j, "lower_bound", a->memory_is_least);
    json_put_u64(j, "runs", a->peaks.count);
    json_put_u64(j, "runs_unknown", a->peaks_unknown);
    json_put_range(j, &a->peaks, "peak_least_bytes", "peak_most_bytes", 0);
    json_put_known(j, "factor", a->peaks.count, a->memory_factor, 1);
    json_put_known(j, "rise_bytes", a->peaks.count, a->memory_rise, 0);
    json_put_known(j, "oom_limit_bytes", a->oom_limit > 0 && a->oom_limit_known, a->oom_limit, 0);
    json_put_known(j, "oom_peak_bytes", a->oom_limit > 0 && !a->oom_limit_known, a->oom_limit, 0);
    json_object_end(j);

    json_put_object(j, "gpus");
    json_put_known(j, "request", a->knows_gpus, a->gpus, 0);
    json_put_u64(j, "seen", a->gpus_seen);
    json_put_known(j, "memory_peak_bytes", a->gpu_memory.count, a->gpu_memory.most, 0);
    json_object_end(j);

    json_put_object(j, "time");
    json_put_known(j, "request_seconds", a->seconds, (double)a->seconds, 0);
    json_put_bool(j, "lower_bound", a->seconds_is_least);
    json_put_u64(j, "runs", a->times.count);
    json_put_range(j, &a->times, "shortest_seconds", "longest_seconds", 9);
    json_put_known(j, "ended_after_seconds", a->seconds_is_least, a->timed_out_seconds, 9);
    json_object_end(j);
    json_object_end(j);
}

/* ==== toll_recommend ========================================================================== */

/* By name; those of one name stay in the order of their start. */
static int compare_names(const void *left, const void *right)
{
    const struct study_run *a = *(const struct study_run *const *)left;
    const struct study_run *b = *(const struct study_run *const *)right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a > b) - (a < b);
}

/* Adds a block for each job. Returns how many have something to ask for. */
static size_t recommend_jobs(struct buf *out, const struct study_run **runs, size_t count,
                             const struct toll_recommend *x, struct study_advice *ret_last)
{
    const char *format = x->format ? x->format : "text";
    const struct tool *tool = tool_find(format);
    bool is_json = strcmp(format, "json") == 0;
    struct json_out j;
    size_t useful = 0;
    json_begin(&j, out, 2);
    if (is_json) {
        json_object(&j);
        json_put_string(&j, "schema", "toll.recommend/1");
        json_put_string(&j, "toll", toll_version());
        json_put_array(&j, "jobs");
    }
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && strcmp(runs[end]->name, runs[first]->name) == 0;)
            end++;
        study_advise(runs + first, end - first, ret_last);
        useful += has_advice(ret_last);
        if (is_json) {
            recommend_json(&j, ret_last);
            continue;
        }
        buf_puts(out, first ? "\n" : "");
        if (tool)
            recommend_for_tool(out, ret_last, tool);
        else
            recommend_text(out, ret_last, x->flags, x->columns);
    }
    if (is_json) {
        json_array_end(&j);
        json_object_end(&j);
        buf_putc(out, '\n');
    }
    return useful;
}

static int recommend_check(const struct toll_recommend *x, struct toll_error *e)
{
    if (!x->format || strcmp(x->format, "text") == 0 || strcmp(x->format, "json") == 0 ||
        tool_find(x->format))
        return 0;
    struct buf names = {0};
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        buf_printf(&names, ", %s", tools[i].name);
    int r = err_set(e, -EINVAL, "unknown format '%s' (expected text, json%s)", x->format,
                    names.data ? names.data : "");
    buf_done(&names);
    return r;
}

static int recommend_nothing(const struct study_runs *runs, const struct study_run **jobs,
                             size_t count, const struct study_advice *last, struct toll_error *e)
{
    struct buf why = {0};
    if (!runs->seen)
        return err_set(e, -ENODATA, "no runs in the records ('toll run -o FILE.jsonl' saves one)");
    if (!count)
        return err_set(e, -ENODATA, "none of %zu run%s matches", runs->seen,
                       runs->seen == 1 ? "" : "s");
    if (strcmp(jobs[0]->name, jobs[count - 1]->name) == 0)
        put_no_advice(&why, last);
    int r = err_set(e, -ENODATA, "%s",
                    why.data && !buf_failed(&why) ? why.data : "no run has finished");
    buf_done(&why);
    return r;
}

int toll_recommend(const struct toll_recommend *asked, char **ret, struct toll_error *e)
{
    static const char *const here[] = {".", NULL};
    struct toll_recommend x;
    struct study_runs runs = {0};
    struct study_advice last = {0};
    struct buf text = {0};
    if (!ret)
        return err_set_no_place(e);
    int r = sized_take(&x, sizeof x, asked, "recommend", e);
    if (r == 0)
        r = recommend_check(&x, e);
    struct study_filter filter = {.name = x.name, .labels = x.labels};
    for (const char *const *path = x.records ? x.records : here; r == 0 && *path; path++)
        r = study_add(&runs, *path, &filter, NULL, x.note, x.note_arg, e);
    if (r < 0) {
        study_runs_done(&runs);
        return r;
    }
    study_sort(&runs);
    CLEANUP_FREE const struct study_run **jobs = calloc(runs.count + 1, sizeof *jobs);
    size_t count = 0;
    for (size_t i = 0; jobs && i < runs.count; i++)
        if (runs.items[i].has_target) /* the machine alone is not a job */
            jobs[count++] = &runs.items[i];
    if (count)
        qsort(jobs, count, sizeof *jobs, compare_names);
    if (!jobs)
        r = -ENOMEM;
    else if (!recommend_jobs(&text, jobs, count, &x, &last))
        r = recommend_nothing(&runs, jobs, count, &last, e);
    if (r == 0 && !(*ret = buf_take(&text)))
        r = -ENOMEM;
    if (r == -ENOMEM)
        err_set(e, r, "cannot read the records: out of memory");
    buf_done(&text);
    study_runs_done(&runs);
    return r;
}
