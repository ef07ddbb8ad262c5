/* SPDX-License-Identifier: MIT */
#include "summary/phases.h"

#include "unit.h"

#include <stdio.h>

static void begin(struct phases *p, const char *name, pid_t pid, uint64_t at_ns, int expected)
{
    struct phase *one = NULL;
    assert_int_equal(phases_begin(p, name, pid, at_ns, &one), expected);
    assert_true((one != NULL) == (expected == 0));
}

/* In these tests, processes below 100 have left. */
static bool has_left(const void *context, const struct phase *p)
{
    return p->pid < 100;
}

static const struct phase_owner owner = {has_left, NULL};

/* Ends a phase that began then. */
static void end(struct phases *p, const char *name, pid_t pid, uint64_t at_ns, uint64_t began_ns)
{
    struct phase *one = NULL;
    assert_int_equal(phases_end(p, name, pid, at_ns, &owner, &one), 0);
    assert_string_equal(one->name, name);
    assert_int_equal(one->begin_ns, began_ns);
    assert_int_equal(one->end_ns, at_ns);
    phase_free(one);
}

/* Who says the end once too often does not end what goes on elsewhere. */
static void test_one_end_too_many(void **state)
{
    struct phases p = {0};
    struct phase *one;
    begin(&p, "a", 100, 10, 0);
    begin(&p, "a", 101, 20, 0);
    end(&p, "a", 101, 30, 20);
    assert_int_equal(phases_end(&p, "a", 101, 40, &owner, &one), -ENOENT);
    assert_int_equal(phases_end(&p, "a", 0, 40, &owner, &one), -ENOENT);
    end(&p, "a", 100, 50, 10);
    phases_done(&p);
}

/* Nobody ended it, and its process died in it: what was seen of that one, at least. */
static void test_died_inside(void **state)
{
    struct phases p = {0};
    struct row row;
    begin(&p, "a", 1, 10, 0);
    row_init(&row, ENTITY_PROCESS);
    for (uint64_t ns = 10; ns <= 50; ns += 20) {
        row_put_u64(&row, process_cpu_seconds, ns * NS_PER_SECOND);
        phase_figures_look(&p.open[0]->of_process, &row, ns, ns);
    }
    p.open[0]->scope = SCOPE_PROCESS;
    p.open[0]->process_left = true;
    struct phase *one = phases_cut(&p, 1000);
    assert_true(one->not_ended && one->end_ns == 50);
    assert_false(phase_is_of_target(one) || phase_is_widened(one));
    struct phase_figure cpu = phase_figures_of(phase_figures(one), process_cpu_seconds,
                                               one->begin_ns, one->end_ns);
    assert_true(cpu.total == 40 && cpu.quality == QUALITY_LOWER_BOUND);
    phase_free(one);
    phases_done(&p);
}

static void test_nested_and_overlapping(void **state)
{
    struct phases p = {0};
    struct phase *one;
    begin(&p, "a", 1, 10, 0);
    begin(&p, "b", 1, 20, 0);
    begin(&p, "a", 1, 30, 1); /* in itself: one level deeper */
    begin(&p, "a", 2, 40, 0); /* of another process */
    assert_int_equal(phases_end(&p, "a", 1, 50, &owner, &one), 1);
    end(&p, "a", 1, 60, 10); /* before b, which began later */
    end(&p, "b", 1, 70, 20);
    end(&p, "a", 2, 80, 40);
    assert_int_equal(p.count, 0);
    assert_int_equal(phases_end(&p, "a", 1, 90, &owner, &one), -ENOENT);
    phases_done(&p);
    phases_done(&p);
}

static void test_ended_by_another(void **state)
{
    struct phases p = {0};
    begin(&p, "a", 1, 10, 0);
    begin(&p, "a", 2, 20, 0);
    end(&p, "a", 1, 30, 10); /* its own before the newest */
    begin(&p, "a", 3, 40, 0);
    end(&p, "a", 9, 50, 40);
    end(&p, "a", 9, 60, 20);
    phases_done(&p);
}

/* The pid is another process's by now. */
/* A shell has others say what it does; whoever speaks for itself is no shell. */
static void test_told_for(void **state)
{
    struct phases p = {0};
    begin(&p, "a", 101, 10, 0);
    assert_false(phases_was_told_for(&p, "a", 101));
    p.open[0]->told_for = true;
    assert_true(phases_was_told_for(&p, "a", 101));
    assert_false(phases_was_told_for(&p, "a", 102) || phases_was_told_for(&p, "b", 101));
    p.open[0]->process_left = true;
    assert_true(phases_was_told_for(&p, "a", 101));
    phases_done(&p);
}

static void test_reused_pid(void **state)
{
    struct phases p = {0};
    begin(&p, "a", 1, 10, 0);
    p.open[0]->process_left = true;
    begin(&p, "a", 1, 20, 0);
    end(&p, "a", 1, 30, 20);
    end(&p, "a", 1, 40, 10);
    phases_done(&p);
}

static void test_whose_figures(void **state)
{
    struct phase p = {.pid = 1};
    assert_true(phase_is_of_target(&p)); /* nobody looked */
    p.scope = SCOPE_PROCESS;
    assert_false(phase_is_of_target(&p));
    assert_ptr_equal(phase_figures(&p), &p.of_process);
    p.process_left = true;
    assert_ptr_equal(phase_figures(&p), &p.of_target);
    assert_true(phase_is_widened(&p));
    p.by_main = true;
    assert_false(phase_is_widened(&p));
    /* One that said the end itself had all it used by then. */
    struct phases all = {0};
    struct phase *one;
    begin(&all, "a", 1, 10, 0);
    all.open[0]->scope = SCOPE_PROCESS;
    all.open[0]->process_left = true;
    assert_int_equal(phases_end(&all, "a", 1, 5, &owner, &one), 0);
    assert_false(phase_is_of_target(one));
    assert_int_equal(one->end_ns, 10); /* never before its beginning */
    phase_free(one);
    phases_done(&all);
}

static void test_cut(void **state)
{
    struct phases p = {0};
    begin(&p, "a", 1, 10, 0);
    begin(&p, "b", 1, 20, 0);
    struct phase *one = phases_cut(&p, 100);
    assert_true(one->not_ended && one->end_ns == 100);
    assert_string_equal(one->name, "a");
    phase_free(one);
    phase_free(phases_cut(&p, 100));
    assert_null(phases_cut(&p, 100));
    phase_free(NULL);
    phases_done(&p);
}

static void test_bounded(void **state)
{
    struct phases p = {0};
    for (int i = 0; i < PHASES_AT_MOST; i++)
        begin(&p, "a", 1 + i, 10, 0);
    begin(&p, "a", 1 + PHASES_AT_MOST, 10, -ENOSPC);
    begin(&p, "a", 5, 10, 1);
    phases_done(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_and_overlapping),
        cmocka_unit_test(test_one_end_too_many),
        cmocka_unit_test(test_died_inside),
        cmocka_unit_test(test_ended_by_another),
        cmocka_unit_test(test_told_for),
        cmocka_unit_test(test_reused_pid),
        cmocka_unit_test(test_whose_figures),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_bounded),
    };
    return RUN("phases", tests);
}
