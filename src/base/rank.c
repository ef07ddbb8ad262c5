/* SPDX-License-Identifier: MIT */
#include "base/rank.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/file.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ==== Ranks =================================================================================== */

/* The innermost launcher first: under a launcher that Slurm started, the variables of Slurm are
 * those of its daemon. A name as common as RANK counts only together with another of the launcher.
 * Launchers that torchrun is the base of (accelerate, Ray Train, Lightning) set its variables. */
static const struct {
    const char *name;
    const char *rank, *local_rank, *world_size; /* NULL: it has none */
    const char *launch;                         /* an id of the launch, or NULL */
    const char *launch_part;                    /* that it is unique with; or NULL */
    const char *beside;                         /* has to be set as well, or NULL */
    const char *beside_start;                   /* … and to begin with this, or NULL */
} launchers[] = {
    {"torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE",
     NULL},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
     "PMIX_NAMESPACE", NULL, NULL, NULL},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", NULL,
     NULL, NULL, NULL},
    {"MVAPICH", "MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_SIZE", NULL,
     NULL, NULL, NULL},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_SIZE", "LSB_JOBID",
     "LS_JOBPID", NULL, NULL},
    {"PALS", "PALS_RANKID", "PALS_LOCAL_RANKID", "PMI_SIZE", "PALS_APID", NULL, NULL, NULL},
    {"ALPS", "ALPS_APP_PE", NULL, "PMI_SIZE", "ALPS_APP_ID", NULL, NULL, NULL},
    {"Flux", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", "FLUX_JOB_ID", NULL, NULL,
     NULL},
    /* Hydra starts its daemons with srun or prun where it finds them: its ranks inherit what those
     * were given, and have a local rank besides. */
    {"Intel MPI", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "PMI_JOBID", NULL,
     "I_MPI_HYDRA_HOST_FILE", NULL},
    {"MPICH", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "PMI_JOBID", NULL, "MPI_LOCALRANKID",
     NULL},
    /* srun --mpi=pmix, and below pmi2: Slurm knows more than PMI has. */
    {"Slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID",
     "PMIX_NAMESPACE", "slurm."},
    {"PMIx", "PMIX_RANK", NULL, NULL, "PMIX_NAMESPACE", NULL, NULL, NULL},
    {"Slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID",
     "SLURM_MPI_TYPE", "pmi2"},
    {"MPICH", "PMI_RANK", NULL, "PMI_SIZE", "PMI_JOBID", NULL, NULL, NULL},
    {"POE", "MP_CHILD", NULL, "MP_PROCS", "LSB_JOBID", NULL, "MP_PROCS", NULL},
    /* A batch script has SLURM_PROCID=0 as well, but is not one of the tasks: it has no step. */
    {"Slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID",
     "SLURM_STEP_ID", NULL},
    {"Spark", "SPARK_EXECUTOR_ID", NULL, NULL, "SPARK_APPLICATION_ID", NULL, NULL, NULL},
    {"Kubernetes", "JOB_COMPLETION_INDEX", NULL, NULL, NULL, NULL, NULL, NULL},
};

/* A number, without zeros and blanks around it. */
static bool rank_take_number(char ret[RANK_BYTES], const char *variable)
{
    enum { MOST = 99999999 };
    const char *text = variable ? getenv(variable) : NULL;
    struct scan s = scan_string(text ? text : "");
    uint64_t number;
    if (!scan_u64(&s, &number) || !scan_done(&s) || number > MOST)
        return false;
    snprintf(ret, RANK_BYTES, "%llu", (unsigned long long)number);
    return true;
}

/* False when it is empty, too long or not printable. */
static bool rank_copy_id(char *ret, size_t capacity, const char *text)
{
    size_t length = text ? strnlen(text, capacity) : 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    if (!length || length == capacity)
        return false;
    memcpy(ret, text, length + 1);
    return true;
}

static ssize_t rank_read_proc(pid_t pid, const char *file, char *buf, size_t capacity)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    ssize_t length = file_read_at(AT_FDCWD, path, buf, capacity - 1);
    buf[length > 0 ? length : 0] = '\0';
    return length;
}

/* Hydra sets no id of the launch. But its proxy, which starts the ranks of a machine, has the
 * address at which mpiexec listens as an argument: --control-port HOST:PORT. Scripts may be between
 * the proxy and this process. */
static void rank_find_hydra_launch(char ret[LAUNCH_BYTES])
{
    enum { MOST_SCRIPTS = 8 };
    pid_t pid = getppid();
    for (int i = 0; i < MOST_SCRIPTS && pid > 1; i++) {
        char text[4096];
        ssize_t length = rank_read_proc(pid, "cmdline", text, sizeof text);
        const char *name = strrchr(text, '/') ? strrchr(text, '/') + 1 : text;
        bool is_proxy = strcmp(name, "hydra_pmi_proxy") == 0, is_next = false;
        for (const char *word = text; is_proxy && word < text + length; word += strlen(word) + 1) {
            if (is_next) {
                rank_copy_id(ret, LAUNCH_BYTES, word);
                return;
            }
            is_next = strcmp(word, "--control-port") == 0;
        }
        uint64_t parent;
        const char *after = rank_read_proc(pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')')
                                                                               : NULL;
        struct scan s = scan_string(after && strlen(after) > 4 ? after + 4 : "");
        pid = scan_u64(&s, &parent) ? (pid_t)parent : 0;
    }
}

bool parallel_shares_terminal(const struct parallel *p)
{
    return *p->rank && strcmp(p->launcher, "Kubernetes") != 0 && strcmp(p->launcher, "Spark") != 0;
}

bool parallel_find(struct parallel *ret)
{
    *ret = (struct parallel){0};
    for (size_t i = 0; i < ARRAY_LEN(launchers); i++) {
        const char *beside = launchers[i].beside ? getenv(launchers[i].beside) : "";
        const char *start = launchers[i].beside_start ? launchers[i].beside_start : "";
        if (!beside || strncmp(beside, start, strlen(start)) != 0 ||
            !rank_take_number(ret->rank, launchers[i].rank))
            continue;
        rank_take_number(ret->local_rank, launchers[i].local_rank);
        rank_take_number(ret->world_size, launchers[i].world_size);
        snprintf(ret->launcher, sizeof ret->launcher, "%s", launchers[i].name);
        char id[LAUNCH_BYTES / 2], part[LAUNCH_BYTES / 2 - 1];
        const char *known = launchers[i].launch ? getenv(launchers[i].launch) : NULL;
        const char *rest = launchers[i].launch_part ? getenv(launchers[i].launch_part) : NULL;
        bool has_part = rank_copy_id(part, sizeof part, rest);
        if (rank_copy_id(id, sizeof id, known))
            snprintf(ret->launch, sizeof ret->launch, "%s%s%s", id, has_part ? "." : "",
                     has_part ? part : "");
        if (!*ret->launch && strcmp(ret->launcher, "MPICH") == 0)
            rank_find_hydra_launch(ret->launch);
        return true;
    }
    return false;
}

/* ==== Batch jobs ============================================================================== */

/* Slurm gives each task of an array its own job id, while squeue prints 1234_5: the id of the array
 * comes first. A name as common as JOB_ID counts only together with another of the same system. */
static const struct {
    const char *id;
    const char *array_index; /* or NULL */
    const char *beside;      /* has to be set as well, or NULL */
    const char *no_array;    /* value of array_index outside an array */
} batch_systems[] = {
    {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", NULL, NULL},
    {"SLURM_JOB_ID", NULL, NULL, NULL},
    {"PBS_JOBID", "PBS_ARRAY_INDEX", "PBS_ARRAY_INDEX", NULL},
    {"PBS_JOBID", "PBS_ARRAYID", NULL, NULL}, /* Torque */
    {"LSB_JOBID", "LSB_JOBINDEX", NULL, "0"},
    {"JOB_ID", "SGE_TASK_ID", "SGE_TASK_ID", "undefined"},
    {"FLUX_JOB_ID", NULL, NULL, NULL},
    {"COBALT_JOBID", NULL, NULL, NULL},
    {"RAY_JOB_ID", NULL, NULL, NULL},
    {"SPARK_APPLICATION_ID", NULL, NULL, NULL},
};

void batch_job_find(struct batch_job *ret)
{
    *ret = (struct batch_job){0};
    for (size_t i = 0; i < ARRAY_LEN(batch_systems) && !*ret->id; i++) {
        const char *beside = batch_systems[i].beside, *none = batch_systems[i].no_array;
        const char *index = batch_systems[i].array_index;
        if ((beside && !getenv(beside)) ||
            !rank_copy_id(ret->id, sizeof ret->id, getenv(batch_systems[i].id)))
            continue;
        const char *value = index ? getenv(index) : NULL;
        if (value && !(none && strcmp(value, none) == 0))
            rank_copy_id(ret->array_index, sizeof ret->array_index, value);
    }
}

/* ==== Records of one job ====================================================================== */

/* Texts first, so that runs of one launch are side by side, then by their start. Without an id of
 * the launch, runs of different names are of different jobs. */
static int rank_compare_launches(const struct rank_run *a, const struct rank_run *b)
{
    int order = strcmp(a->launch, b->launch);
    if (order == 0)
        order = strcmp(a->job_id, b->job_id);
    if (order == 0)
        order = strcmp(a->array_index, b->array_index);
    if (order == 0)
        order = strcmp(a->world_size, b->world_size);
    return order == 0 && !*a->launch ? strcmp(a->name, b->name) : order;
}

static int rank_compare_numbers(const char *a, const char *b)
{
    size_t x = strlen(a), y = strlen(b);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

static int rank_compare_starts(const void *left, const void *right)
{
    const struct rank_run *a = *(struct rank_run *const *)left;
    const struct rank_run *b = *(struct rank_run *const *)right;
    bool has_rank = *a->rank;
    if (has_rank != (*b->rank != '\0'))
        return has_rank ? -1 : 1;
    int order = has_rank ? rank_compare_launches(a, b) : 0;
    return order ? order : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int rank_compare_ranks(const void *left, const void *right)
{
    const struct rank_run *a = *(struct rank_run *const *)left;
    const struct rank_run *b = *(struct rank_run *const *)right;
    if (a->cluster != b->cluster)
        return (a->cluster > b->cluster) - (a->cluster < b->cluster);
    int order = rank_compare_numbers(a->rank, b->rank);
    return order ? order : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int rank_compare_groups(const void *left, const void *right)
{
    const struct rank_run *a = *(struct rank_run *const *)left;
    const struct rank_run *b = *(struct rank_run *const *)right;
    if (a->cluster != b->cluster)
        return (a->cluster > b->cluster) - (a->cluster < b->cluster);
    if (a->group != b->group)
        return (a->group > b->group) - (a->group < b->group);
    return rank_compare_numbers(a->rank, b->rank);
}

/* The same ids may come again: a job that is started again in its allocation, a port that is free
 * again. Runs that overlap in time are a cluster; in it a rank that is there twice is of a second
 * launch. */
int rank_group(struct rank_run *runs, size_t count)
{
    struct rank_run **sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &runs[i];
    qsort(sorted, count, sizeof *sorted, rank_compare_starts);
    uint64_t end_ns = 0;
    for (size_t i = 0; i < count; i++) {
        struct rank_run *r = sorted[i], *before = i ? sorted[i - 1] : NULL;
        /* The clocks of machines differ; an id of the launch makes it less likely to be another. */
        uint64_t slack_ns = (*r->launch ? 60 : 10) * NS_PER_SECOND;
        bool is_same = before && *r->rank && *before->rank &&
                       rank_compare_launches(before, r) == 0 && r->start_ns <= end_ns + slack_ns;
        r->cluster = is_same ? before->cluster : i;
        end_ns = is_same && end_ns > r->end_ns ? end_ns : r->end_ns;
    }
    qsort(sorted, count, sizeof *sorted, rank_compare_ranks);
    for (size_t i = 0; i < count; i++) {
        struct rank_run *r = sorted[i], *before = i ? sorted[i - 1] : NULL;
        bool is_again = before && before->cluster == r->cluster &&
                        strcmp(before->rank, r->rank) == 0;
        r->group = is_again ? before->group + 1 : 0;
    }
    /* One number for cluster and group, in the order of the runs. */
    qsort(sorted, count, sizeof *sorted, rank_compare_groups);
    size_t cluster = SIZE_MAX, group = SIZE_MAX, number = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new = sorted[i]->cluster != cluster || sorted[i]->group != group;
        cluster = sorted[i]->cluster;
        group = sorted[i]->group;
        number += is_new && i > 0;
        sorted[i]->number = number;
    }
    free(sorted);
    return 0;
}

/* ==== File names ============================================================================== */

bool rank_path_has_placeholder(const char *path)
{
    return strchr(path, '%') && !strstr(path, "://");
}

/* Adds a text as one component of a path, or a part of one. */
static void rank_put_component(struct buf *b, const char *text)
{
    for (const char *c = text; *c; c++) {
        bool is_plain = (unsigned char)*c > ' ' && *c != 0x7f && !strchr("/,%\\", *c);
        bool begins = !b->length || b->data[b->length - 1] == '/';
        buf_putc(b, is_plain && !(*c == '.' && begins) ? *c : '_');
    }
}

static void rank_put_job(struct buf *b)
{
    struct batch_job job;
    struct parallel place;
    batch_job_find(&job);
    parallel_find(&place);
    rank_put_component(b, *job.id ? job.id : *place.launch ? place.launch : "nojob");
    if (*job.id && *job.array_index && !strstr(job.id, "[")) { /* PBS: "9[3].server" */
        buf_putc(b, '_');
        rank_put_component(b, job.array_index);
    }
}

int rank_put_path(struct buf *b, const char *path, const char *name, uint64_t start_real_ns,
                  struct toll_error *e)
{
    struct parallel place;
    struct utsname machine = {0};
    time_t seconds = (time_t)(start_real_ns / NS_PER_SECOND);
    struct tm tm = {0};
    parallel_find(&place);
    uname(&machine);
    gmtime_r(&seconds, &tm);
    for (const char *c = path; *c; c++) {
        if (*c != '%') {
            buf_putc(b, *c);
            continue;
        }
        switch (*++c) {
        case '%': buf_putc(b, '%'); break;
        case 'j': rank_put_job(b); break;
        case 'r': rank_put_component(b, *place.rank ? place.rank : "0"); break;
        case 'l':
            if (*place.rank && !*place.local_rank)
                return err_set(e, -EINVAL,
                               "'%%l' in '%s': %s sets no local rank (use %%r, or %%h and %%p)",
                               path, place.launcher);
            rank_put_component(b, *place.local_rank ? place.local_rank : "0");
            break;
        case 'h': rank_put_component(b, *machine.nodename ? machine.nodename : "nohost"); break;
        case 'p': buf_printf(b, "%d", (int)getpid()); break;
        case 'n': rank_put_component(b, name && *name ? name : "noname"); break;
        case 't':
            buf_printf(b, "%04d%02d%02dT%02d%02d%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                       tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
            break;
        default:
            return err_set(e, -EINVAL,
                           "unknown '%%%.1s' in '%s' (expected %%j job, %%r rank, %%l local rank, "
                           "%%h host, %%p pid, %%n name, %%t time, or %%%% for a percent sign)",
                           c, path);
        }
    }
    return buf_failed(b) ? err_set(e, -ENOMEM, "cannot open the output: out of memory") : 0;
}
