/* SPDX-License-Identifier: MIT */
#include "engine/marks/marks.h"

#include "unit.h"

#include <stdio.h>

/* A tracker of the machine: it takes marks, and its figures do not matter. */
static struct toll_tracker *track(void)
{
    struct toll_tracker *t;
    struct toll_options o = {.size = sizeof o, .system = true, .metrics = "system_cpu_seconds"};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    return t;
}

static void say(struct toll_tracker *t, const char *text)
{
    assert_int_equal(mark_queue_put(&t->marks.queue, strdup(text)), 0);
}

static void test_counts(void **state)
{
    struct toll_tracker *t = track();
    say(t, "event a");
    say(t, "nonsense");
    say(t, "gauge g 2 @lost=7");
    say(t, "event a @lost=1000000001"); /* not believed */
    say(t, "phase end never");
    mark_intake_step(t);
    const struct mark_totals *m = &t->summary.marks;
    assert_true(m->taken == 4 && m->ignored == 1 && m->lost == 7 && m->events == 2);
    assert_int_equal(m->unmatched, 1);
    assert_int_equal(m->gauge_count, 1);
    assert_int_equal(t->marks.waiting_count, 0);
    toll_tracker_free(t);
}

/* A time that lies outside the run is not believed. */
static void test_times(void **state)
{
    struct toll_tracker *t = track();
    char text[64];
    uint64_t now_ns = clock_mono(NULL);
    snprintf(text, sizeof text, "phase begin told @time=%llu", (unsigned long long)t->start_ns);
    say(t, text);
    say(t, "phase begin before @time=1");
    say(t, "phase begin after @time=18446744073709551615");
    mark_intake_step(t);
    struct phase **open = t->marks.phases.open;
    assert_int_equal(t->marks.phases.count, 3);
    assert_int_equal(open[0]->begin_ns, t->start_ns);
    for (int i = 1; i < 3; i++)
        assert_true(open[i]->begin_ns >= now_ns && open[i]->begin_ns <= clock_mono(NULL));
    toll_tracker_free(t);
}

/* A look at once for a boundary of a phase, none for other marks. */
static void test_looks(void **state)
{
    struct toll_tracker *t = track();
    say(t, "event a");
    say(t, "gauge g 1");
    mark_intake_step(t);
    assert_int_equal(t->frame.tick, 0);
    say(t, "phase begin p");
    mark_intake_step(t);
    assert_int_equal(t->frame.tick, 1);
    t->marks.looks_cost_ns = UINT64_MAX / 2; /* all is used up */
    say(t, "phase end p");
    mark_intake_step(t);
    assert_int_equal(t->frame.tick, 1);
    assert_true(t->marks.looks_rest);
    assert_int_equal(t->summary.marks.phase_count, 1); /* counted all the same */
    toll_tracker_free(t);
}

/* A flood does not keep a step from its end. */
static void test_at_most_so_many(void **state)
{
    struct toll_tracker *t = track();
    for (int i = 0; i < 1000; i++)
        say(t, "event a");
    mark_intake_step(t);
    assert_true(t->summary.marks.taken > 0 && t->summary.marks.taken < 1000);
    mark_intake_last(t);
    mark_intake_end(t);
    assert_int_equal(t->summary.marks.taken, 1000);
    toll_tracker_free(t);
}

static void test_no_socket(void **state)
{
    struct toll_tracker *t = track();
    t->options.no_marks = true;
    mark_intake_listen(t);
    assert_int_equal(t->marks.socket.fd, -1);
    assert_int_equal(t->marks.failure, 0);
    t->marks.failure = -ENOSPC;
    mark_intake_step(t); /* told once, and the run goes on */
    mark_intake_step(t);
    assert_int_equal(t->summary.note_count, 1);
    assert_non_null(strstr(t->summary.notes[0], "no socket"));
    toll_tracker_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),    cmocka_unit_test(test_times),
        cmocka_unit_test(test_looks),     cmocka_unit_test(test_at_most_so_many),
        cmocka_unit_test(test_no_socket),
    };
    return RUN("mark_intake", tests);
}
