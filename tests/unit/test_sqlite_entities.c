/* SPDX-License-Identifier: MIT */
#include "record/sqlite/rows.h"

#include "record/sqlite/schema.h"
#include "unit.h"

/* How many were described since it was last asked. */
static unsigned described(struct sqlite_entities *x)
{
    struct scan row_log = scan_text(x->met.data, x->met.length);
    struct row_log_item item;
    unsigned rows = 0;
    for (enum row_log_is is; (is = sqlite_row_log_next(&row_log, &item)) != TAPE_END;)
        rows += is == TAPE_ROW && item.statement == STATEMENT_ENTITY;
    buf_clear(&x->met);
    return rows;
}

static void test_each_is_described_once(void **state)
{
    struct sqlite_entities x = {0};
    struct run_target target = {.name = strdupa("web")};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(sqlite_entities_part(&x, NULL, 0, PART_MAIN), SQLITE_ENTITY_MAIN);
        assert_int_equal(sqlite_entities_self(&x), SQLITE_ENTITY_SELF);
        assert_int_equal(sqlite_entities_part(&x, &target, 3, PART_COMBINED), SQLITE_ENTITY_OTHERS);
        assert_int_equal(described(&x), i ? 0 : 3);
    }
    sqlite_entities_done(&x);
}

static void test_instances(void **state)
{
    struct sqlite_entities x = {0};
    struct instance disk = {.number = 40}, core = {.number = 2}, machine = {.number = 1};
    instance_init(&disk, ENTITY_DISK);
    instance_init(&core, ENTITY_CORE);
    instance_init(&machine, ENTITY_SYSTEM);
    disk.number = 40, core.number = 2, machine.number = 1;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(sqlite_entities_instance(&x, &disk), SQLITE_ENTITY_OTHERS);
        assert_int_equal(sqlite_entities_instance(&x, &core), SQLITE_ENTITY_OTHERS + 1);
        assert_int_equal(sqlite_entities_instance(&x, &machine), SQLITE_ENTITY_SYSTEM);
        assert_int_equal(described(&x), i ? 0 : 3);
    }
    sqlite_entities_done(&x);
}

static void test_processes(void **state)
{
    struct sqlite_entities x = {0};
    struct entity a = {.kind = ENTITY_PROCESS, .pid = 10, .start_ticks = 1, .name = "sh"};
    struct entity b = {.kind = ENTITY_PROCESS, .pid = 11, .start_ticks = 1, .name = "sh"};
    unsigned first = sqlite_entities_process(&x, NULL, &a);
    unsigned second = sqlite_entities_process(&x, NULL, &b);
    assert_int_not_equal(first, second);
    assert_int_equal(sqlite_entities_process(&x, NULL, &a), first);
    strcpy(a.name, "cc"); /* an exec */
    unsigned renamed = sqlite_entities_process(&x, NULL, &a);
    assert_int_not_equal(renamed, first);
    sqlite_entities_left(&x, &a); /* the other one moves to its place */
    assert_int_equal(sqlite_entities_process(&x, NULL, &b), second);
    assert_int_not_equal(sqlite_entities_process(&x, NULL, &a), renamed);
    sqlite_entities_left(&x, &b);
    sqlite_entities_left(&x, &b);
    sqlite_entities_left(&x, &a);
    assert_int_equal(x.known_count, 0);
    assert_int_equal(described(&x), 4);
    sqlite_entities_done(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_described_once),
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_processes),
    };
    return RUN("sqlite_entities", tests);
}
