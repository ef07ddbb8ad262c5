/* SPDX-License-Identifier: MIT */
#include "metric/frame.h"

#include "unit.h"

static void check_every_metric(enum entity_kind kind)
{
    struct row r;
    row_init(&r, kind);
    enum metric_id first = metric_first(kind);
    unsigned count = metric_count(kind);
    assert_in_range(count, 1, sizeof r.values / sizeof r.values[0]);
    for (unsigned i = 0; i < count; i++)
        assert_false(row_has(&r, first + i));

    for (unsigned i = 0; i < count; i++) {
        row_put_u64(&r, first + i, 1000 + i);
        for (unsigned k = 0; k < count; k++)
            assert_int_equal(row_has(&r, first + k), k <= i);
    }
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(row_u64(&r, first + i), 1000 + i);

    for (unsigned i = 0; i < count; i++) {
        row_unknown(&r, first + i);
        assert_false(row_has(&r, first + i));
        assert_int_equal(row_u64(&r, first + i), 0);
    }
    assert_int_equal(r.present, 0);
}

static void test_rows(void **state)
{
    check_every_metric(ENTITY_PROCESS);
    check_every_metric(ENTITY_TARGET);
    check_every_metric(ENTITY_SELF);
}

static void test_double(void **state)
{
    struct row r;
    row_init(&r, ENTITY_TARGET);
    row_put_double(&r, process_cpu_cores, 1.5);
    assert_true(row_has(&r, process_cpu_cores));
    assert_true(row_value(&r, process_cpu_cores).d == 1.5);
}

static void test_put_again(void **state)
{
    struct row r;
    row_init(&r, ENTITY_SELF);
    row_put_u64(&r, self_ticks_count, 1);
    row_put_u64(&r, self_ticks_count, 2);
    assert_int_equal(row_u64(&r, self_ticks_count), 2);
    row_init(&r, ENTITY_SELF);
    assert_false(row_has(&r, self_ticks_count));
}

static void test_frame(void **state)
{
    struct frame f = {0};
    for (int tick = 0; tick < 3; tick++) {
        frame_begin(&f);
        assert_null(f.processes);
        assert_int_equal(f.process_count, 0);
        assert_false(f.last);
        f.processes = arena_take(&f.arena, 1000 * sizeof *f.processes);
        assert_non_null(f.processes);
        assert_null(f.processes[999].row);
        f.processes[999].row = (const struct row *)&f;
        f.process_count = 1000;
        f.last = true;
    }
    frame_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_put_again),
        cmocka_unit_test(test_frame),
    };
    return RUN("frame", tests);
}
