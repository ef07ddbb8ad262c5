/* SPDX-License-Identifier: MIT */
#include "source/collector.h"

#include "unit.h"

/* A figure of the machine that no collector names would never be read when it is asked for by name;
 * one that two give would be read twice. */
static void test_each_figure_of_the_machine_has_one_source(void **state)
{
    uint64_t given = 0;
    for (unsigned i = 0; collectors[i]; i++) {
        const struct collector *c = collectors[i];
        assert_true(!(given & c->gives_of_system));
        given |= c->gives_of_system;
        assert_int_equal(c->gives_of_system != 0, c->gives >> ENTITY_SYSTEM & 1);
    }
    given |= SYSTEM_BITS(gpu_utilization_ratio, gpu_memory_used_bytes); /* no collector: a thread */
    assert_true(given == SYSTEM_BITS(uptime_seconds, gpu_memory_used_bytes));
    assert_int_equal(__builtin_popcountll(given), SYSTEM_METRICS);
}

static void test_each_is_whole(void **state)
{
    for (unsigned i = 0; collectors[i]; i++) {
        assert_true(*collectors[i]->name && collectors[i]->gives);
        assert_true(collectors[i]->open && collectors[i]->collect && collectors[i]->close);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_figure_of_the_machine_has_one_source),
        cmocka_unit_test(test_each_is_whole),
    };
    return RUN("collectors", tests);
}
