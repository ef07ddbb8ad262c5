/* SPDX-License-Identifier: MIT */
#include "account/rates.h"

#include "unit.h"

static void read_disk(struct instance *m, uint64_t bytes, uint64_t active_ns, bool since_start,
                      uint64_t now_ns)
{
    row_init(&m->read, ENTITY_DISK);
    row_put_u64(&m->read, disk_read_bytes, bytes);
    row_put_u64(&m->read, disk_active_seconds, active_ns);
    row_put_u64(&m->read, disk_in_flight_count, 3);
    settle(m, since_start, now_ns);
}

static void test_counts_from_the_first_reading(void **state)
{
    struct instance m;
    instance_init(&m, ENTITY_DISK);
    read_disk(&m, 1000, NS_PER_SECOND, false, NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_read_bytes), 0);
    assert_int_equal(row_u64(&m.row, disk_in_flight_count), 3); /* not a counter */
    assert_false(row_has(&m.row, disk_busy_ratio));
    read_disk(&m, 1500, NS_PER_SECOND * 3 / 2, false, 2 * NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_read_bytes), 500);
    assert_true(row_value(&m.row, disk_busy_ratio).d == 0.5);
}

static void test_what_came_later_counts_from_zero(void **state)
{
    struct instance m;
    instance_init(&m, ENTITY_DISK);
    m.is_new = true;
    read_disk(&m, 1000, 0, false, NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_read_bytes), 1000);
}

static void test_since_start(void **state)
{
    struct instance m;
    instance_init(&m, ENTITY_DISK);
    read_disk(&m, 1000, 0, true, NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_read_bytes), 1000);
}

/* A figure that shows up late is new, not grown. */
static void test_late_figure(void **state)
{
    struct instance m;
    instance_init(&m, ENTITY_DISK);
    read_disk(&m, 1000, 0, false, NS_PER_SECOND);
    row_put_u64(&m.read, disk_written_bytes, 77);
    settle(&m, false, 2 * NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_written_bytes), 0);
    assert_true(row_has(&m.row, disk_written_bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_from_the_first_reading),
        cmocka_unit_test(test_what_came_later_counts_from_zero),
        cmocka_unit_test(test_since_start),
        cmocka_unit_test(test_late_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
