/* SPDX-License-Identifier: MIT */
#include "source/machine/disks.h"

#include "unit.h"

static struct diskstats reading(uint64_t reads, uint64_t active_ms)
{
    struct diskstats d = {.major = 8, .fields = DISKSTATS_FIELDS};
    d.values[DISKSTATS_READS] = reads;
    d.values[DISKSTATS_READ_SECTORS] = 8 * reads;
    d.values[DISKSTATS_ACTIVE_MS] = active_ms;
    return d;
}

static void add(struct disk_history *h, struct diskstats d, bool was_removed)
{
    disk_history_add(h, &d, was_removed);
}

static void test_grows(void **state)
{
    struct disk_history h = {0};
    add(&h, reading(100, 50), false);
    assert_int_equal(h.total[DISKSTATS_READS], 100);
    add(&h, reading(130, 60), false);
    assert_int_equal(h.total[DISKSTATS_READS], 130);
    assert_int_equal(h.total[DISKSTATS_READ_SECTORS], 8 * 130);
    assert_int_equal(h.total[DISKSTATS_ACTIVE_MS], 60);
}

static void test_starts_again(void **state)
{
    struct disk_history h = {0};
    add(&h, reading(100, 50), false);
    add(&h, reading(5, 2), false); /* removed and back between two readings */
    assert_int_equal(h.total[DISKSTATS_READS], 105);
    assert_int_equal(h.total[DISKSTATS_ACTIVE_MS], 52);
    add(&h, reading(200, 80), true); /* more than before, and yet from zero */
    assert_int_equal(h.total[DISKSTATS_READS], 305);
    assert_int_equal(h.total[DISKSTATS_ACTIVE_MS], 132);
    struct diskstats other = reading(300, 90);
    other.major = 9;
    add(&h, other, false);
    assert_int_equal(h.total[DISKSTATS_READS], 605);
}

/* After 49 days of milliseconds. */
static void test_time_wraps(void **state)
{
    struct disk_history h = {0};
    add(&h, reading(100, UINT32_MAX - 9), false);
    add(&h, reading(101, 20), false);
    assert_true(h.total[DISKSTATS_ACTIVE_MS] == UINT64_C(0xFFFFFFFF) + 1 + 20);
    assert_int_equal(h.total[DISKSTATS_READS], 101);
}

static void test_a_small_step_back_is_no_growth(void **state)
{
    struct disk_history h = {0};
    add(&h, reading(100, 5000), false);
    add(&h, reading(100, 4999), false);
    assert_int_equal(h.total[DISKSTATS_ACTIVE_MS], 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_starts_again),
        cmocka_unit_test(test_time_wraps),
        cmocka_unit_test(test_a_small_step_back_is_no_growth),
    };
    return RUN("disk_history", tests);
}
