/* SPDX-License-Identifier: MIT */
#include "account/members.h"

#include "unit.h"

static struct member *add(struct members *m, pid_t pid, pid_t parent, uint64_t cpu, uint64_t rss)
{
    struct member *one = members_add(m, pid);
    assert_non_null(one);
    one->was_seen = true;
    one->targets = 1;
    one->process.entity.parent = parent;
    row_init(&one->process.own, ENTITY_PROCESS);
    row_put_u64(&one->process.own, process_cpu_seconds, cpu);
    row_put_u64(&one->process.own, process_memory_rss_bytes, rss);
    return one;
}

static void test_sum(void **state)
{
    struct members m;
    struct row row;
    members_init(&m, 0);
    add(&m, 1, 0, 1000, 100);
    struct member *two = add(&m, 2, 1, 10, 20);
    add(&m, 3, 2, 1, 2);
    struct member *other = add(&m, 4, 1, 500, 50);
    inherited_put(&two->process.inherited, process_cpu_seconds, 7); /* of a child it has reaped */
    assert_true(subtree_sum(&m, 2, 0, &row));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 18);
    assert_int_equal(row_u64(&row, process_memory_rss_bytes), 22);
    assert_int_equal(row_u64(&row, process_processes_count), 2);
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 1518);
    other->targets = 0; /* only watched */
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 1018);
    assert_false(subtree_sum(&m, 9, 0, &row));
    two->gone = true;
    assert_false(subtree_sum(&m, 2, 0, &row));
    members_done(&m);
}

/* A sum that leaves somebody out is not a sum. */
static void test_unknown(void **state)
{
    struct members m;
    struct row row;
    members_init(&m, 0);
    struct member *one = add(&m, 1, 0, 5, 100);
    struct member *two = add(&m, 2, 1, 5, 100);
    row_put_u64(&one->process.own, process_open_files_count, 3);
    row_put_u64(&one->process.own, process_memory_pss_bytes, 50);
    row_put_u64(&two->process.own, process_memory_pss_bytes, 60);
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_false(row_has(&row, process_open_files_count));
    assert_false(row_has(&row, process_memory_pss_bytes)); /* not read in this look */
    assert_true(subtree_sum(&m, 1, BIT(process_memory_pss_bytes), &row));
    assert_int_equal(row_u64(&row, process_memory_pss_bytes), 110);
    two->process.denied = BIT(process_open_files_count); /* left out, as everywhere */
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_false(row_has(&row, process_open_files_count));
    assert_true(row.at_least == BIT(process_open_files_count));
    assert_int_equal(row_value(&row, process_open_files_count).u, 3);
    one->process.has_ended = two->process.has_ended = true;
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_false(row_has(&row, process_memory_rss_bytes));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 10);
    members_done(&m);
}

/* Parents that were read at different times. */
static void test_circle(void **state)
{
    struct members m;
    struct row row;
    members_init(&m, 0);
    add(&m, 1, 2, 5, 0);
    add(&m, 2, 1, 5, 0);
    add(&m, 3, 0, 5, 0);
    assert_true(subtree_sum(&m, 3, 0, &row));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 5);
    members_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_circle),
    };
    return RUN("subtree", tests);
}
