/* SPDX-License-Identifier: MIT */
#include "source/proc/reader.h"

#include "unit.h"

static void test_stat_is_first(void **state)
{
    assert_string_equal(process_files[0].name, "stat");
    assert_int_equal(process_files[0].cost, COST_CHEAP);
}

/* Every figure of a process that some fold uses comes from exactly one file, at the cost the table
 * of metrics says; those of GPUs from none. Memory with each page once is RSS of one process, and
 * dear of several alone. */
static void test_each_metric_has_one_file(void **state)
{
    uint64_t given = 0;
    for (const struct process_file *f = process_files; f->name; f++) {
        assert_non_null(f->read);
        assert_true((given & f->gives) == 0);
        given |= f->gives;
        FOR_EACH_BIT(id, f->gives)
        assert_int_equal(metric_of(id)->cost,
                         id == process_memory_distinct_bytes ? COST_SLOW : f->cost);
    }
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        assert_int_equal(given >> id & 1,
                         metric_of(id)->fold < FOLD_WHOLE && !(PROCESS_GPU_BITS >> id & 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_is_first),
        cmocka_unit_test(test_each_metric_has_one_file),
    };
    return RUN("process_files", tests);
}
