/* SPDX-License-Identifier: MIT */
#include "base/rank.h"

#include "base/util.h"
#include "unit.h"

static void test_the_innermost_launcher_counts(void **state)
{
    char rank[16] = "";
    static const char *const all[] = {"RANK",           "WORLD_SIZE",   "OMPI_COMM_WORLD_RANK",
                                      "PMIX_RANK",      "PMI_RANK",     "PALS_RANKID",
                                      "FLUX_TASK_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX"};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        unsetenv(all[i]);
    assert_false(rank_find(rank, sizeof rank));
    setenv("RANK", "7", 1); /* a word that may mean anything */
    assert_false(rank_find(rank, sizeof rank));
    setenv("SLURM_PROCID", "0", 1);
    assert_true(rank_find(rank, sizeof rank));
    assert_string_equal(rank, "0");
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    assert_true(rank_find(rank, sizeof rank));
    assert_string_equal(rank, "3");
    setenv("WORLD_SIZE", "8", 1);
    assert_true(rank_find(rank, sizeof rank));
    assert_string_equal(rank, "7");
    setenv("RANK", "many", 1);
    assert_true(rank_find(rank, sizeof rank));
    assert_string_equal(rank, "3");
}

/* What each batch system says, nothing else in the environment. */
static void test_the_batch_job(void **state)
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
        {{{"FLUX_JOB_ID", "f2"}}, "f2", ""},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_innermost_launcher_counts),
        cmocka_unit_test(test_the_batch_job),
    };
    return RUN("rank", tests);
}
