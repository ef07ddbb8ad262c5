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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_innermost_launcher_counts),
    };
    return RUN("rank", tests);
}
