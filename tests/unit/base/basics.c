/* SPDX-License-Identifier: MIT */
#include "base/err.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/rank.h"
#include "base/thread.h"
#include "base/util.h"
#include "unit.h"

#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>

/* ---- util ----------------------------------------------------------------------------------- */

static void test_util_arithmetic(void **state)
{
    assert_int_equal(min_u64(1, 2), 1);
    assert_int_equal(max_u64(1, 2), 2);
    assert_int_equal(left_u64(5, 3), 2);
    assert_int_equal(left_u64(3, 5), 0);
    assert_int_equal(left_u64(3, 3), 0);
    uint64_t last = 5;
    assert_int_equal(counter_growth(&last, 7), 2);
    assert_int_equal(counter_growth(&last, 6), 0);
    assert_int_equal(counter_growth(&last, 8), 1);
    assert_true(sum_u64(3, 5) == 8);
    assert_true(sum_u64(UINT64_MAX - 1, 1) == UINT64_MAX);
    assert_true(sum_u64(UINT64_MAX - 1, 7) == UINT64_MAX);
    assert_true(BIT(63) == UINT64_C(0x8000000000000000));
}

static void test_util_descriptor_is_closed(void **state)
{
    int seen;
    {
        CLEANUP_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        seen = fd;
        assert_true(fcntl(seen, F_GETFD) >= 0);
    }
    assert_int_equal(fcntl(seen, F_GETFD), -1);
}

static void test_util_descriptor_is_handed_over(void **state)
{
    int taken;
    {
        CLEANUP_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        taken = take_fd(&fd);
        assert_int_equal(fd, -1);
    }
    assert_true(fcntl(taken, F_GETFD) >= 0);
    close(taken);
}

/* The leak checker of the sanitizer build is the judge. */
static void test_util_memory_is_freed(void **state)
{
    CLEANUP_FREE char *p = malloc(16);
    assert_non_null(p);
}

/* ---- sized ---------------------------------------------------------------------------------- */

struct known {
    size_t size;
    int one, two;
};

/* As a later version may have it. */
struct newer {
    struct known known;
    int three;
};

static void test_sized_take(void **state)
{
    struct known k, asked = {.size = sizeof asked, .one = 1, .two = 2};
    struct newer newer = {.known = {.size = sizeof newer, .one = 7}};
    struct toll_error e;
    assert_int_equal(sized_take(&k, sizeof k, NULL, "things", &e), 0);
    assert_true(!k.size && !k.one && !k.two);
    assert_int_equal(sized_take(&k, sizeof k, &asked, "things", &e), 0);
    assert_true(k.one == 1 && k.two == 2);
    asked.size = offsetof(struct known, two); /* an older program */
    assert_int_equal(sized_take(&k, sizeof k, &asked, "things", &e), 0);
    assert_true(k.one == 1 && k.two == 0);
    assert_int_equal(sized_take(&k, sizeof k, &newer, "things", &e), 0);
    assert_int_equal(k.one, 7);
    newer.three = 3;
    assert_int_equal(sized_take(&k, sizeof k, &newer, "things", &e), -E2BIG);
    assert_non_null(strstr(e.message, "unsupported field set in the things"));
    asked.size = 0;
    assert_int_equal(sized_take(&k, sizeof k, &asked, "things", &e), -EINVAL);
    assert_non_null(strstr(e.message, "size of the things"));
    assert_int_equal(sized_check(&asked, "things", NULL), -EINVAL);
}

static void test_sized_give(void **state)
{
    struct known full = {.size = 99, .one = 1, .two = 2}, ret = {.size = sizeof ret};
    sized_give(&ret, &full, sizeof full);
    assert_true(ret.size == sizeof ret && ret.one == 1 && ret.two == 2);
    ret = (struct known){.size = offsetof(struct known, two), .two = 5};
    sized_give(&ret, &full, sizeof full);
    assert_true(ret.one == 1 && ret.two == 5);
    struct newer newer = {.known = {.size = sizeof newer}, .three = 4};
    sized_give(&newer, &full, sizeof full);
    assert_true(newer.known.two == 2 && newer.three == 4);
    ret = (struct known){.size = sizeof(size_t), .one = 5};
    sized_give(&ret, &full, sizeof full);
    assert_int_equal(ret.one, 5);
}

/* ---- err ------------------------------------------------------------------------------------ */

static void test_err_set(void **state)
{
    struct toll_error e;
    assert_int_equal(err_set(&e, -EINVAL, "bad %s: %d", "number", 7), -EINVAL);
    assert_int_equal(e.code, -EINVAL);
    assert_string_equal(e.message, "bad number: 7");
}

static void test_err_wrap(void **state)
{
    struct toll_error e;
    err_set(&e, -ENOENT, "no such file");
    assert_int_equal(err_wrap(&e, -EINVAL, "cannot read %s", "x.conf"), -EINVAL);
    assert_int_equal(e.code, -EINVAL);
    assert_string_equal(e.message, "cannot read x.conf: no such file");
}

static void test_err_nobody_asks(void **state)
{
    assert_int_equal(err_set(NULL, -EACCES, "x"), -EACCES);
    assert_int_equal(err_wrap(NULL, -EACCES, "x"), -EACCES);
}

/* Whatever the lengths, the message is terminated inside its space. */
static void test_err_too_long(void **state)
{
    struct toll_error *e = malloc(sizeof *e);
    char text[2 * sizeof e->message];
    for (size_t length = 0; length < sizeof text; length++) {
        memset(text, 'x', length);
        text[length] = '\0';
        size_t kept = length < sizeof e->message ? length : sizeof e->message - 1;

        err_set(e, -EINVAL, "%s", text);
        assert_int_equal(strlen(e->message), kept);

        err_set(e, -EINVAL, "inner");
        err_wrap(e, -EINVAL, "%s", text);
        size_t wrapped = length + strlen(": inner");
        assert_int_equal(strlen(e->message),
                         wrapped < sizeof e->message ? wrapped : sizeof e->message - 1);

        err_set(e, -EINVAL, "%s", text);
        err_wrap(e, -EINVAL, "outer");
        assert_true(strlen(e->message) < sizeof e->message);
        assert_memory_equal(e->message, "outer: ", 7);
    }
    free(e);
}

/* What it quotes is from outside. */
static void test_err_harmless(void **state)
{
    struct toll_error e;
    err_set(&e, -EINVAL, "no '%s'", "\x1b[1m\u202Ehttp://u:pw@h\x9b");
    assert_string_equal(e.message, "no '?[1m?http://u:***@h?'");
    err_wrap(&e, -EINVAL, "TOKEN=%s", "x y\n");
    assert_string_equal(e.message, "TOKEN=*** y : no '?[1m?http://u:***@h?'");
}

/* ---- rank ----------------------------------------------------------------------------------- */

/* Every variable that is looked at, whatever launcher or batch system this test runs in. */
static void rank_clear_variables(void)
{
    static const char *const prefixes[] = {
        "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "MASTER_", "OMPI_",       "PMI",          "MPI_",
        "MV2_",  "MVP_",        "JSM_",        "PALS_",   "ALPS_",       "FLUX_",        "I_MPI_",
        "MP_",   "SLURM_",      "SPARK_",      "JOB_",    "PBS_",        "LSB_",         "LS_JOB",
        "SGE_",  "COBALT_",     "RAY_",        "DASK_",   "ACCELERATE_", "TORCHELASTIC_"};
    char names[64][64];
    size_t count = 0;
    for (char **variable = environ; *variable && count < ARRAY_LEN(names); variable++)
        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
            if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) == 0) {
                snprintf(names[count++], sizeof names[0], "%.*s", (int)strcspn(*variable, "="),
                         *variable);
                break;
            }
    while (count)
        unsetenv(names[--count]);
}

/* What each launcher sets, as its documentation or source has it, beside the variables of the batch
 * system around it. */
static void test_rank_every_launcher(void **state)
{
    static const struct {
        const char *variables[8];
        struct parallel expected;
    } cases[] = {
        {{"RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=8", "MASTER_ADDR=n1", "MASTER_PORT=29500"},
         {"3", "1", "8", "torchrun", "n1.29500"}},
        /* accelerate launch is torchrun with settings of its own; with one process it is none. */
        {{"RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=8", "MASTER_ADDR=n1", "MASTER_PORT=29500",
          "ACCELERATE_MIXED_PRECISION=no", "ACCELERATE_DYNAMO_BACKEND=no",
          "TORCHELASTIC_RUN_ID=none"},
         {"3", "1", "8", "torchrun", "n1.29500"}},
        {{"ACCELERATE_MIXED_PRECISION=no", "ACCELERATE_USE_CPU=true"}, {"", "", "", "", ""}},
        /* Workers and tasks have names there, no ranks: of a Dask worker, of a Ray job. */
        {{"DASK_WORKER_NAME=3", "DASK_SCHEDULER_ADDRESS=tcp://n1:8786"}, {"", "", "", "", ""}},
        {{"RAY_JOB_ID=01000000", "RAY_WORKER_ID=ab"}, {"", "", "", "", ""}},
        {{"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_SIZE=8",
          "PMIX_RANK=3", "PMIX_NAMESPACE=956301313", "SLURM_PROCID=0", "SLURM_STEP_ID=0"},
         {"3", "1", "8", "Open MPI", "956301313"}},
        {{"MV2_COMM_WORLD_RANK=3", "MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_SIZE=8",
          "PMI_RANK=3", "PMI_SIZE=8"},
         {"3", "1", "8", "MVAPICH", ""}},
        {{"MVP_COMM_WORLD_RANK=3", "MVP_COMM_WORLD_LOCAL_RANK=1", "MVP_COMM_WORLD_SIZE=8"},
         {"3", "1", "8", "MVAPICH", ""}},
        {{"JSM_NAMESPACE_RANK=3", "JSM_NAMESPACE_LOCAL_RANK=1", "JSM_NAMESPACE_SIZE=8",
          "LSB_JOBID=77", "LS_JOBPID=4711", "PMIX_RANK=3", "PMIX_NAMESPACE=1"},
         {"3", "1", "8", "jsrun", "77.4711"}},
        {{"PALS_RANKID=3", "PALS_LOCAL_RANKID=1", "PMI_SIZE=8", "PMI_RANK=3", "PALS_APID=a-b"},
         {"3", "1", "8", "PALS", "a-b"}},
        {{"ALPS_APP_PE=3", "PMI_SIZE=8", "PMI_RANK=3", "ALPS_APP_ID=12"},
         {"3", "", "8", "ALPS", "12"}},
        {{"FLUX_TASK_RANK=3", "FLUX_TASK_LOCAL_ID=1", "FLUX_JOB_SIZE=8", "FLUX_JOB_ID=f2",
          "PMI_RANK=3", "PMI_SIZE=8"},
         {"3", "1", "8", "Flux", "f2"}},
        {{"PMIX_RANK=3", "PMIX_NAMESPACE=prterun-n1-9@1"}, {"3", "", "", "PMIx", "prterun-n1-9@1"}},
        {{"PMI_RANK=3", "PMI_SIZE=8", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=4",
          "I_MPI_HYDRA_HOST_FILE=h"},
         {"3", "1", "8", "Intel MPI", ""}},
        {{"PMI_RANK=3", "PMI_SIZE=8", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=4"},
         {"3", "1", "8", "MPICH", ""}},
        {{"PMI_RANK=3", "PMI_SIZE=8", "PMI_JOBID=5"}, {"3", "", "8", "MPICH", "5"}},
        {{"MP_CHILD=3", "MP_PROCS=8", "LSB_JOBID=77"}, {"3", "", "8", "POE", "77"}},
        {{"SLURM_PROCID=3", "SLURM_LOCALID=1", "SLURM_NTASKS=8", "SLURM_JOB_ID=77",
          "SLURM_STEP_ID=2"},
         {"3", "1", "8", "Slurm", "77.2"}},
        {{"SLURM_PROCID=3", "SLURM_LOCALID=1", "SLURM_NTASKS=8", "SLURM_JOB_ID=77",
          "SLURM_STEP_ID=2", "PMIX_RANK=3", "PMIX_NAMESPACE=slurm.pmix.77.2"},
         {"3", "1", "8", "Slurm", "77.2"}},
        {{"SLURM_PROCID=3", "SLURM_LOCALID=1", "SLURM_NTASKS=8", "SLURM_JOB_ID=77",
          "SLURM_STEP_ID=2", "PMI_RANK=3", "SLURM_MPI_TYPE=pmi2"},
         {"3", "1", "8", "Slurm", "77.2"}},
        {{"SLURM_PROCID=0", "SLURM_STEP_ID=2", "SLURM_MPI_TYPE=pmi2", "PMI_RANK=3", "PMI_SIZE=8",
          "MPI_LOCALRANKID=1", "PMI_JOBID=77.2"}, /* Hydra, whose daemon Slurm started */
         {"3", "1", "8", "MPICH", "77.2"}},
        {{"SLURM_PROCID=0", "SLURM_STEP_ID=2", "PMIX_RANK=0", "PMIX_NAMESPACE=slurm.pmix.77.2",
          "PMI_RANK=3", "PMI_SIZE=8", "MPI_LOCALRANKID=1", "PMI_JOBID=5"},
         {"3", "1", "8", "MPICH", "5"}},
        {{"PMIX_RANK=0", "PMIX_NAMESPACE=prterun-n1-9@1", "PMI_RANK=3", "PMI_SIZE=8",
          "MPI_LOCALRANKID=1", "I_MPI_HYDRA_HOST_FILE=h"},
         {"3", "1", "8", "Intel MPI", ""}},
        {{"SPARK_EXECUTOR_ID=3", "SPARK_APPLICATION_ID=spark-1"},
         {"3", "", "", "Spark", "spark-1"}},
        {{"JOB_COMPLETION_INDEX=3"}, {"3", "", "", "Kubernetes", ""}},
        /* Not ranks: a word alone, a batch script, the driver of Spark, nonsense. */
        {{"RANK=3"}, {"", "", "", "", ""}},
        {{"MP_CHILD=3"}, {"", "", "", "", ""}},
        {{"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=8", "SLURM_JOB_ID=77"},
         {"", "", "", "", ""}},
        {{"SPARK_EXECUTOR_ID=driver"}, {"", "", "", "", ""}},
        {{"PMI_RANK=-1"}, {"", "", "", "", ""}},
        {{"OMPI_COMM_WORLD_RANK=99999999999999999999"}, {"", "", "", "", ""}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct parallel *expected = &cases[i].expected;
        struct parallel p;
        rank_clear_variables();
        for (size_t v = 0; v < ARRAY_LEN(cases[i].variables) && cases[i].variables[v]; v++) {
            char name[64];
            snprintf(name, sizeof name, "%s", cases[i].variables[v]);
            char *value = strchr(name, '=');
            *value = '\0';
            setenv(name, value + 1, 1);
        }
        assert_int_equal(parallel_find(&p), *expected->rank != '\0');
        assert_string_equal(p.rank, expected->rank);
        assert_string_equal(p.local_rank, expected->local_rank);
        assert_string_equal(p.world_size, expected->world_size);
        assert_string_equal(p.launcher, expected->launcher);
        assert_string_equal(p.launch, expected->launch);
        bool has_own_log = strcmp(p.launcher, "Kubernetes") == 0 ||
                           strcmp(p.launcher, "Spark") == 0;
        assert_int_equal(parallel_shares_terminal(&p), *expected->rank && !has_own_log);
    }
    rank_clear_variables();
}

static void test_rank_the_innermost_launcher_counts(void **state)
{
    struct parallel p;
    rank_clear_variables();
    assert_false(parallel_find(&p));
    assert_string_equal(p.rank, "");
    setenv("RANK", "7", 1); /* a word that may mean anything */
    assert_false(parallel_find(&p));
    setenv("SLURM_PROCID", "0", 1); /* of a batch script */
    assert_false(parallel_find(&p));
    setenv("SLURM_STEP_ID", "2", 1);
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_NTASKS", "16", 1);
    setenv("SLURM_LOCALID", "0", 1);
    assert_true(parallel_find(&p));
    assert_string_equal(p.rank, "0");
    assert_string_equal(p.world_size, "16");
    assert_string_equal(p.launch, "77.2");
    assert_string_equal(p.launcher, "Slurm");
    setenv("PMIX_RANK", "5", 1); /* srun --mpi=pmix */
    setenv("PMIX_NAMESPACE", "slurm.pmix.77.2", 1);
    assert_true(parallel_find(&p));
    assert_string_equal(p.launcher, "Slurm");
    setenv("PMIX_NAMESPACE", "prterun-node1-99@1", 1);
    assert_true(parallel_find(&p));
    assert_string_equal(p.launcher, "PMIx");
    assert_string_equal(p.rank, "5");
    assert_string_equal(p.world_size, ""); /* not that of the daemons, which Slurm has started */
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
    assert_true(parallel_find(&p));
    assert_string_equal(p.rank, "3");
    assert_string_equal(p.local_rank, "1");
    assert_string_equal(p.world_size, "4");
    assert_string_equal(p.launch, "prterun-node1-99@1");
    setenv("WORLD_SIZE", "8", 1);
    setenv("MASTER_ADDR", "node1", 1);
    setenv("MASTER_PORT", "29500", 1);
    assert_true(parallel_find(&p));
    assert_string_equal(p.rank, "7");
    assert_string_equal(p.world_size, "8");
    assert_string_equal(p.local_rank, "");
    assert_string_equal(p.launch, "node1.29500");
    assert_true(parallel_shares_terminal(&p));
    setenv("RANK", "many", 1);
    assert_true(parallel_find(&p));
    assert_string_equal(p.rank, "3");
    rank_clear_variables();
    setenv("JOB_COMPLETION_INDEX", "2", 1);
    assert_true(parallel_find(&p));
    assert_string_equal(p.launcher, "Kubernetes");
    assert_false(parallel_shares_terminal(&p));
    rank_clear_variables();
}

static void test_rank_runs_of_one_job(void **state)
{
    const uint64_t s = NS_PER_SECOND;
    struct rank_run runs[] = {
        {"0", "a", "7", "", "2", "x", 100 * s, 200 * s, 0, 0, 0},
        {"0", "b", "7", "", "2", "x", 100 * s, 200 * s, 0, 0, 0}, /* beside it */
        {"1", "a", "7", "", "2", "x", 150 * s, 200 * s, 0, 0, 0},
        {"1", "b", "7", "", "2", "x", 101 * s, 200 * s, 0, 0, 0},
        {"", "", "", "", "", "x", 100 * s, 200 * s, 0, 0, 0}, /* not a rank */
        {"", "", "", "", "", "x", 100 * s, 200 * s, 0, 0, 0},
        {"0", "a", "7", "", "2", "x", 205 * s, 300 * s, 0, 0, 0}, /* again */
        {"1", "a", "7", "", "2", "x", 206 * s, 300 * s, 0, 0, 0},
        {"0", "a", "7", "", "2", "x", 900 * s, 910 * s, 0, 0, 0}, /* much later */
        {"0", "", "7", "", "2", "x", 100 * s, 200 * s, 0, 0, 0},  /* no id of the launch */
        {"1", "", "7", "", "2", "y", 100 * s, 200 * s, 0, 0, 0},
    };
    assert_int_equal(rank_group(runs, ARRAY_LEN(runs)), 0);
    assert_int_equal(runs[0].number, runs[2].number);
    assert_int_equal(runs[1].number, runs[3].number);
    assert_int_equal(runs[6].number, runs[7].number);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        for (size_t k = 0; k < i; k++)
            if (!(i == 2 && k == 0) && !(i == 3 && k == 1) && !(i == 7 && k == 6))
                assert_int_not_equal(runs[i].number, runs[k].number);
    assert_int_equal(rank_group(NULL, 0), 0);
}

static void test_rank_in_file_names(void **state)
{
    struct toll_error e = {0};
    struct buf b = {0};
    rank_clear_variables();
    assert_false(rank_path_has_placeholder("runs/a.jsonl"));
    assert_false(rank_path_has_placeholder("mlflow:http://host/a%20b"));
    assert_true(rank_path_has_placeholder("runs/%r.jsonl"));
    assert_int_equal(
        rank_put_path(&b, "runs/%j/%r-%l-%n-%t.%%", "../a,b c", 1763422200000000000U, &e), 0);
    assert_string_equal(b.data, "runs/nojob/0-0-.._a_b_c-20251117T233000Z.%");
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    setenv("PMIX_NAMESPACE", "prterun@1", 1);
    buf_clear(&b);
    assert_int_equal(rank_put_path(&b, "%j/%n/%r", "..", 0, &e), 0);
    assert_string_equal(b.data, "prterun@1/_./3"); /* never the directory above */
    assert_int_equal(rank_put_path(&b, "%l", "x", 0, &e), -EINVAL);
    assert_string_equal(e.message,
                        "'%l' in '%l': Open MPI sets no local rank (use %r, or %h and %p)");
    setenv("SLURM_JOB_ID", "12", 1);
    setenv("SLURM_ARRAY_JOB_ID", "11", 1);
    setenv("SLURM_ARRAY_TASK_ID", "4", 1);
    buf_clear(&b);
    assert_int_equal(rank_put_path(&b, "%j", "x", 0, &e), 0);
    assert_string_equal(b.data, "11_4");
    unsetenv("SLURM_ARRAY_TASK_ID");
    assert_int_equal(rank_put_path(&b, "a%x", "x", 0, &e), -EINVAL);
    assert_true(strstr(e.message, "unknown '%x' in 'a%x' (expected %j job, %r rank"));
    assert_int_equal(rank_put_path(&b, "a%", "x", 0, &e), -EINVAL);
    assert_true(strstr(e.message, "unknown '%' in 'a%'"));
    buf_done(&b);
    rank_clear_variables();
}

/* What each batch system says, nothing else in the environment. */
static void test_rank_the_batch_job(void **state)
{
    static const struct {
        const char *variables[3][2];
        const char *id, *array_index;
    } cases[] = {
        {{{"SLURM_JOB_ID", "77"}}, "77", ""},
        {{{"SLURM_JOB_ID", "78"}, {"SLURM_ARRAY_JOB_ID", "77"}, {"SLURM_ARRAY_TASK_ID", "5"}},
         "77",
         "5"},
        {{{"PBS_JOBID", "9[3].server"}, {"PBS_ARRAY_INDEX", "3"}}, "9[3].server", "3"},
        {{{"PBS_JOBID", "9.server"}}, "9.server", ""},
        {{{"LSB_JOBID", "4"}, {"LSB_JOBINDEX", "0"}}, "4", ""}, /* in no array */
        {{{"LSB_JOBID", "4"}, {"LSB_JOBINDEX", "2"}}, "4", "2"},
        {{{"JOB_ID", "6"}, {"SGE_TASK_ID", "undefined"}}, "6", ""},
        {{{"JOB_ID", "6"}}, "", ""}, /* a word that may mean anything */
        {{{"JOB_ID", "6"}, {"SGE_TASK_ID", "3"}}, "6", "3"},
        {{{"PBS_JOBID", "9[3].server"}, {"PBS_ARRAYID", "3"}}, "9[3].server", "3"}, /* Torque */
        {{{"FLUX_JOB_ID", "f2"}}, "f2", ""},
        {{{"COBALT_JOBID", "8"}}, "8", ""},
        {{{"RAY_JOB_ID", "01000000"}}, "01000000", ""},
        {{{"SPARK_APPLICATION_ID", "spark-1"}}, "spark-1", ""},
        {{{"SLURM_JOB_ID", ""}}, "", ""},
        {{{"SLURM_JOB_ID", "a\nb"}}, "", ""},
        {{{"SLURM_JOB_ID", "0123456789012345678901234567890123456789012345678901234567890123456"}},
         "",
         ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct batch_job job;
        for (size_t other = 0; other < ARRAY_LEN(cases); other++)
            for (size_t v = 0; v < 3 && cases[other].variables[v][0]; v++)
                unsetenv(cases[other].variables[v][0]);
        for (size_t v = 0; v < 3 && cases[i].variables[v][0]; v++)
            setenv(cases[i].variables[v][0], cases[i].variables[v][1], 1);
        batch_job_find(&job);
        assert_string_equal(job.id, cases[i].id);
        assert_string_equal(job.array_index, cases[i].array_index);
    }
}

/* ---- arena ---------------------------------------------------------------------------------- */

static void test_arena_zeroed_and_aligned(void **state)
{
    struct arena a = {0};
    for (size_t size = 0; size < 300; size++) {
        unsigned char *p = arena_take(&a, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xFF, size);
    }
    arena_done(&a);
}

static void test_arena_chunks_do_not_overlap(void **state)
{
    struct arena a = {0};
    enum { CHUNKS = 2000 };
    static unsigned *chunks[CHUNKS];
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = arena_take(&a, 10 * sizeof(unsigned));
        for (unsigned k = 0; k < 10; k++)
            chunks[i][k] = i;
    }
    for (unsigned i = 0; i < CHUNKS; i++)
        for (unsigned k = 0; k < 10; k++)
            assert_int_equal(chunks[i][k], i);
    arena_done(&a);
}

static void test_arena_empty_keeps_the_memory(void **state)
{
    struct arena a = {0};
    void *first[40];
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        first[i] = memset(arena_take(&a, 1000), 0xFF, 1000);
    arena_empty(&a);
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        unsigned char *again = arena_take(&a, 1000);
        assert_ptr_equal(again, first[i]);
        assert_int_equal(again[0] | again[999], 0);
    }
    arena_done(&a);
}

static void test_arena_larger_than_a_block(void **state)
{
    struct arena a = {0};
    arena_take(&a, 16);
    unsigned char *big = arena_take(&a, 1 << 20);
    assert_non_null(big);
    big[(1 << 20) - 1] = 1;
    assert_non_null(arena_take(&a, 16));
    arena_empty(&a);
    assert_ptr_equal(arena_take(&a, 1 << 20), big);
    arena_done(&a);
}

static void test_arena_impossible_sizes(void **state)
{
    struct arena a = {0};
    assert_null(arena_take(&a, SIZE_MAX));
    assert_null(arena_take(&a, SIZE_MAX - 8));
    assert_null(arena_take(&a, (size_t)PTRDIFF_MAX + 1));
    assert_non_null(arena_take(&a, 8));
    arena_done(&a);
}

static void test_arena_done_and_empty_of_nothing(void **state)
{
    struct arena a = {0};
    arena_empty(&a);
    arena_done(&a);
    arena_done(&a);
    assert_non_null(arena_take(&a, 1));
    arena_done(&a);
}

/* ---- map ------------------------------------------------------------------------------------ */

static void test_map_empty(void **state)
{
    struct map m = {0};
    uint32_t value = 7;
    assert_false(map_get(&m, 1, &value));
    assert_int_equal(value, 7);
    map_remove(&m, 1);
    map_clear(&m);
    map_done(&m);
    map_done(&m);
}

static void test_map_put_get_replace(void **state)
{
    struct map m = {0};
    uint32_t value = 0;
    assert_int_equal(map_put(&m, 42, 1), 0);
    assert_int_equal(map_put(&m, 42, 2), 0);
    assert_int_equal(map_put(&m, UINT32_MAX, 0), 0);
    assert_int_equal(m.count, 2);
    assert_true(map_get(&m, 42, &value));
    assert_int_equal(value, 2);
    assert_true(map_get(&m, UINT32_MAX, &value));
    assert_int_equal(value, 0);
    assert_false(map_get(&m, 43, &value));
    map_clear(&m);
    assert_int_equal(m.count, 0);
    assert_false(map_get(&m, 42, &value));
    map_done(&m);
}

enum { KEYS = 3000 };

/* Where a plain array says what should be there; 0 = nothing. */
struct model {
    uint32_t values[KEYS + 1];
    uint32_t count;
};

static void check_all(const struct map *m, const struct model *model, uint32_t stride)
{
    assert_int_equal(m->count, model->count);
    for (uint32_t k = 1; k <= KEYS; k++) {
        uint32_t value = 0;
        assert_int_equal(map_get(m, k * stride, &value), model->values[k] != 0);
        assert_int_equal(value, model->values[k]);
    }
}

static uint32_t pick(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)random_below(seed, limit);
}

/* Grows, shrinks and wavers: each round prefers to put or to remove. */
static void run_random(uint32_t stride, uint64_t seed)
{
    struct map m = {0};
    struct model model = {0};
    for (uint32_t round = 0; round < 12; round++) {
        uint32_t removals = round % 3 == 2 ? 75 : round % 3 == 1 ? 50 : 20;
        uint32_t range = round % 2 ? KEYS : 100;
        for (uint32_t i = 0; i < 4000; i++) {
            uint32_t k = pick(&seed, range) + 1;
            if (pick(&seed, 100) < removals) {
                map_remove(&m, k * stride);
                model.count -= model.values[k] != 0;
                model.values[k] = 0;
            } else {
                assert_int_equal(map_put(&m, k * stride, i + 1), 0);
                model.count += model.values[k] == 0;
                model.values[k] = i + 1;
            }
        }
        check_all(&m, &model, stride);
    }
    for (uint32_t k = 1; k <= KEYS; k++)
        map_remove(&m, k * stride);
    assert_int_equal(m.count, 0);
    for (uint32_t i = 0; i < m.capacity; i++)
        assert_int_equal(m.slots[i].key, 0);
    map_done(&m);
}

static void test_map_random_runs(void **state)
{
    for (uint32_t seed = 1; seed <= 5; seed++)
        run_random(1, seed);
}

/* Keys with many low zeros, as pids given out in strides would be. */
static void test_map_random_strides(void **state)
{
    run_random(64, 1);
    run_random(4096, 2);
    run_random(1 << 20, 3);
}

/* Full to the limit, so that probing wraps round the end of the table. */
static void test_map_removal_in_a_crowded_table(void **state)
{
    for (uint32_t offset = 0; offset < 200; offset++) {
        struct map m = {0};
        for (uint32_t k = 1; k <= 48; k++)
            assert_int_equal(map_put(&m, offset * 1000 + k * 7, k), 0);
        assert_int_equal(m.capacity, 64);
        for (uint32_t gone = 1; gone <= 48; gone++) {
            map_remove(&m, offset * 1000 + gone * 7);
            for (uint32_t k = 1; k <= 48; k++) {
                uint32_t value = 0;
                assert_int_equal(map_get(&m, offset * 1000 + k * 7, &value), k > gone);
                assert_int_equal(value, k > gone ? k : 0);
            }
        }
        map_done(&m);
    }
}

/* ---- kernel call ---------------------------------------------------------------------------- */

/* They do what the C library's do, and tell errors without errno. */
static void test_kernel_call_the_same_as_the_library(void **state)
{
    CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat ours = {0}, theirs = {0};
    assert_int_equal(kernel_fstat(fd, &ours), 0);
    assert_int_equal(fstat(fd, &theirs), 0);
    assert_int_equal(ours.st_ino, theirs.st_ino);
    assert_int_equal(ours.st_dev, theirs.st_dev);
    assert_int_equal(ours.st_nlink, theirs.st_nlink);
    assert_int_equal(ours.st_size, theirs.st_size);
    char text[4] = "";
    assert_int_equal(kernel_pread(fd, text, 3, 1), 3);
    assert_string_equal(text, "ELF");
    struct rusage before, between, after;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_int_equal(kernel_getrusage(RUSAGE_SELF, &between), 0);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_in_range(between.ru_minflt, before.ru_minflt, after.ru_minflt);
    assert_in_range(between.ru_maxrss, before.ru_maxrss, after.ru_maxrss);
}

static void test_kernel_call_errors(void **state)
{
    struct stat st;
    char byte;
    assert_int_equal(kernel_fstat(-1, &st), -EBADF);
    assert_int_equal(kernel_pread(-1, &byte, 1, 0), -EBADF);
    struct rusage used;
    assert_int_equal(kernel_getrusage(12345, &used), -EINVAL);
}

/* ---- queue ---------------------------------------------------------------------------------- */

enum { OTHER, FRAME };

/* With a weight of 1 for the kind FRAME, 0 for others. */
static int put_chunk(struct queue *q, unsigned kind, const char *text, uint64_t *dropped)
{
    struct chunk c = {kind, kind == FRAME, text, strlen(text)};
    return queue_add(q, &c, false, dropped);
}

/* Takes chunks and compares them as one word. Returns their weight. */
static uint64_t take_chunks(struct queue *q, size_t most, const char *expected)
{
    char text[256] = "";
    const struct chunk *chunks;
    uint64_t weight = 0;
    size_t count = queue_take(q, most, &chunks);
    for (size_t i = 0; i < count; i++) {
        strncat(text, chunks[i].data, chunks[i].length);
        weight += chunks[i].weight;
    }
    assert_string_equal(text, expected);
    queue_release(q);
    return weight;
}

static void test_queue_order_and_size_of_a_batch(void **state)
{
    uint64_t dropped = 0;
    struct queue q;
    assert_int_equal(queue_init(&q, 100000), 0);
    assert_true(queue_is_empty(&q));
    assert_int_equal(put_chunk(&q, OTHER, "begin", &dropped), 0);
    uint64_t since = queue_oldest_ns(&q);
    assert_int_equal(put_chunk(&q, FRAME, "one", &dropped), 0);
    assert_int_equal(put_chunk(&q, FRAME, "two", &dropped), 0);
    assert_true(queue_oldest_ns(&q) == since);
    assert_int_equal(q.bytes, queue_cost(5) + 2 * queue_cost(3));

    assert_int_equal(take_chunks(&q, 8, "beginone"), 1);
    assert_int_equal(take_chunks(&q, 1, "two"), 1); /* one, however long */
    assert_true(queue_is_empty(&q));
    assert_int_equal(q.bytes, 0);
    take_chunks(&q, 100, "");
    assert_int_equal(dropped, 0);
    queue_done(&q);
}

static void test_queue_the_oldest_are_dropped(void **state)
{
    uint64_t dropped = 0;
    struct queue q;
    assert_int_equal(queue_init(&q, 3 * queue_cost(1)), 0);
    assert_int_equal(put_chunk(&q, OTHER, "b", &dropped), 0);
    const char *frames[] = {"1", "2", "3", "4"};
    for (size_t i = 0; i < ARRAY_LEN(frames); i++)
        assert_int_equal(put_chunk(&q, FRAME, frames[i], &dropped), 0);
    assert_int_equal(dropped, 2);
    take_chunks(&q, 100, "b34");
    queue_done(&q);
}

/* Chunks without a weight have as much room again, others have not. */
static void test_queue_without_a_weight(void **state)
{
    uint64_t dropped = 0;
    struct queue q;
    assert_int_equal(queue_init(&q, 2 * queue_cost(1)), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(put_chunk(&q, OTHER, "n", &dropped), 0);
    assert_int_equal(put_chunk(&q, OTHER, "n", &dropped), -ENOBUFS);
    assert_int_equal(put_chunk(&q, FRAME, "f", &dropped), -ENOBUFS);
    assert_int_equal(dropped, 0); /* of those that were in */
    take_chunks(&q, 100, "nnnn");
    queue_done(&q);
}

static void test_queue_forced_into_an_empty_queue(void **state)
{
    uint64_t dropped = 0;
    struct queue q;
    struct chunk large = {FRAME, 1, "0123456789", 10};
    assert_int_equal(queue_init(&q, 5), 0);
    assert_int_equal(queue_add(&q, &large, false, &dropped), -ENOBUFS);
    assert_int_equal(queue_add(&q, &large, true, &dropped), 0);
    assert_int_equal(queue_add(&q, &large, true, &dropped), -ENOBUFS);
    assert_int_equal(dropped, 1); /* the first one made room in vain */
    queue_done(&q);
}

/* Nodes are reused. */
static void test_queue_many_rounds(void **state)
{
    uint64_t dropped = 0;
    struct queue q;
    assert_int_equal(queue_init(&q, 1 << 20), 0);
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i < 100; i++)
            assert_int_equal(put_chunk(&q, FRAME, i % 2 ? "a" : "longer", &dropped), 0);
        const struct chunk *chunks;
        assert_int_equal(queue_take(&q, 1 << 20, &chunks), 100);
        queue_release(&q);
        assert_true(q.spare_count <= 100);
    }
    queue_done(&q);
}

/* ---- growing array -------------------------------------------------------------------------- */

static void test_array_reserve(void **state)
{
    uint64_t *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(ARRAY_RESERVE(items, capacity, i + 1));
        assert_true(capacity > i);
        assert_int_equal(items[i], 0);
        items[i] = i + 1;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i + 1);
    size_t before = capacity;
    assert_true(ARRAY_RESERVE(items, capacity, 10)); /* it never shrinks */
    assert_int_equal(capacity, before);
    assert_true(ARRAY_RESERVE(items, capacity, 5000));
    assert_true(capacity >= 5000 && items[4999] == 0 && items[999] == 1000);
    assert_false(ARRAY_RESERVE(items, capacity, SIZE_MAX / 4)); /* nothing is lost */
    assert_int_equal(items[999], 1000);
    free(items);
}

static void test_array_grow(void **state)
{
    unsigned *items = NULL;
    size_t count = 0;
    for (unsigned i = 0; i < 1000; i++) {
        assert_true(ARRAY_GROW(items, count));
        items[count++] = i;
        if (i % 7 == 6)
            count -= 3; /* entries may leave */
    }
    assert_true(ARRAY_GROW(items, count));
    items[count] = 0;
    free(items);
}

static void test_list_append(void **state)
{
    static const char *const words[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    const char **list = NULL;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        assert_true(list_append(&list, words[i]));
        assert_null(list[i + 1]);
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_string_equal(list[i], words[i]);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array_reserve),
        cmocka_unit_test(test_array_grow),
        cmocka_unit_test(test_list_append),
        cmocka_unit_test(test_queue_order_and_size_of_a_batch),
        cmocka_unit_test(test_queue_the_oldest_are_dropped),
        cmocka_unit_test(test_queue_without_a_weight),
        cmocka_unit_test(test_queue_forced_into_an_empty_queue),
        cmocka_unit_test(test_queue_many_rounds),
        cmocka_unit_test(test_util_arithmetic),
        cmocka_unit_test(test_util_descriptor_is_closed),
        cmocka_unit_test(test_util_descriptor_is_handed_over),
        cmocka_unit_test(test_util_memory_is_freed),
        cmocka_unit_test(test_sized_take),
        cmocka_unit_test(test_sized_give),
        cmocka_unit_test(test_err_harmless),
        cmocka_unit_test(test_err_set),
        cmocka_unit_test(test_err_wrap),
        cmocka_unit_test(test_err_nobody_asks),
        cmocka_unit_test(test_err_too_long),
        cmocka_unit_test(test_rank_every_launcher),
        cmocka_unit_test(test_rank_the_innermost_launcher_counts),
        cmocka_unit_test(test_rank_runs_of_one_job),
        cmocka_unit_test(test_rank_in_file_names),
        cmocka_unit_test(test_rank_the_batch_job),
        cmocka_unit_test(test_arena_zeroed_and_aligned),
        cmocka_unit_test(test_arena_chunks_do_not_overlap),
        cmocka_unit_test(test_arena_empty_keeps_the_memory),
        cmocka_unit_test(test_arena_larger_than_a_block),
        cmocka_unit_test(test_arena_impossible_sizes),
        cmocka_unit_test(test_arena_done_and_empty_of_nothing),
        cmocka_unit_test(test_map_empty),
        cmocka_unit_test(test_map_put_get_replace),
        cmocka_unit_test(test_map_random_runs),
        cmocka_unit_test(test_map_random_strides),
        cmocka_unit_test(test_map_removal_in_a_crowded_table),
        cmocka_unit_test(test_kernel_call_the_same_as_the_library),
        cmocka_unit_test(test_kernel_call_errors),
    };
    return RUN("base/basics", tests);
}
