/* SPDX-License-Identifier: MIT */
#include "engine/tracker.h"
#include "metric/mark.h"
#include "unit.h"

#include <math.h>

static struct mark_text received(const struct mark_socket *s)
{
    static char text[MARK_TEXT_BYTES];
    struct mark_text m;
    pid_t sender;
    ssize_t n = mark_socket_receive(s, text, sizeof text, &sender);
    assert_true(n > 0);
    assert_int_equal(parse_mark_text(scan_text(text, (size_t)n), &m), 0);
    return m;
}

static void test_what_is_refused(void **state)
{
    char name[130], value[5000] = "k=";
    memset(name, 'x', sizeof name);
    name[129] = '\0';
    memset(value + 2, 'v', sizeof value - 3);
    unsetenv(MARK_SOCKET_VARIABLE);
    assert_int_equal(toll_mark_phase_begin(NULL, NULL), -EINVAL);
    assert_int_equal(toll_mark_phase_begin(NULL, ""), -EINVAL);
    assert_int_equal(toll_mark_phase_end(NULL, name), -EINVAL);
    assert_int_equal(toll_mark_event(NULL, "a\nb", NULL), -EINVAL);
    assert_int_equal(toll_mark_event(NULL, "\xFF", NULL), -EINVAL);
    assert_int_equal(toll_mark_gauge(NULL, "x", NAN), -EINVAL);
    assert_int_equal(toll_mark_gauge(NULL, "x", INFINITY), -EINVAL);
    assert_int_equal(toll_mark_event(NULL, "x", (const char *[]){"novalue", NULL}), -EINVAL);
    assert_int_equal(toll_mark_event(NULL, "x", (const char *[]){value, NULL}), -EINVAL);
    assert_int_equal(toll_mark(NULL, NULL), -EINVAL);
    assert_int_equal(toll_mark(NULL, &(struct toll_mark){.name = "x"}), -EINVAL);
    struct toll_mark m = {.size = sizeof m, .name = "x", .kind = 99};
    assert_int_equal(toll_mark(NULL, &m), -EINVAL);
    m = (struct toll_mark){.size = sizeof m, .name = "x", .pid = -1};
    assert_int_equal(toll_mark(NULL, &m), -EINVAL);
    m = (struct toll_mark){.size = sizeof m,
                           .name = "x",
                           .kind = TOLL_MARK_PHASE_END,
                           .attributes = (const char *[]){"k=v", NULL}};
    assert_int_equal(toll_mark(NULL, &m), -EINVAL);
    assert_int_equal(toll_mark_phase_begin(NULL, "fine"), 1);
}

static void test_what_is_sent(void **state)
{
    struct mark_socket s;
    assert_int_equal(mark_socket_open(&s), 0);
    setenv(MARK_SOCKET_VARIABLE, s.address.sun_path, 1);
    uint64_t before = clock_mono(NULL);
    assert_int_equal(toll_mark_phase_begin(NULL, "a b"), 0);
    struct mark_text m = received(&s);
    assert_true(m.kind == MARK_PHASE_BEGIN && strcmp(m.name, "a b") == 0 && m.pid == 0);
    assert_true(m.time_ns >= before && m.time_ns <= clock_mono(NULL));
    assert_int_equal(toll_mark_phase_end(NULL, "a b"), 0);
    assert_int_equal(received(&s).kind, MARK_PHASE_END);
    assert_int_equal(toll_mark_gauge(NULL, "g", -0.125), 0);
    assert_true(received(&s).value == -0.125);
    assert_int_equal(toll_mark_event(NULL, "e", (const char *[]){"k=v w", NULL}), 0);
    m = received(&s);
    char text[64];
    const char *value;
    assert_true(mark_text_attribute(&m.attributes, text, sizeof text, &value));
    assert_string_equal(value, "v w");
    struct toll_mark other = {
        .size = sizeof other, .kind = TOLL_MARK_EVENT, .name = "e", .pid = 4711};
    assert_int_equal(toll_mark(NULL, &other), 0);
    assert_int_equal(received(&s).pid, 4711);
    other.size = offsetof(struct toll_mark, pid); /* of an older program */
    assert_int_equal(toll_mark(NULL, &other), 0);
    assert_int_equal(received(&s).pid, 0);
    mark_socket_close(&s);
}

static void test_to_a_tracker(void **state)
{
    struct toll_tracker *t;
    struct toll_options o = {.size = sizeof o, .system = true};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_mark_gauge(t, "early", 1), 0); /* waits for the start */
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    assert_int_equal(toll_mark_phase_begin(t, "p"), 0);
    assert_true(toll_tracker_step(t) > 0);
    assert_int_equal(t->summary.marks.taken, 2);
    assert_int_equal(t->marks.phases.count, 1);
    assert_int_equal(toll_mark_phase_end(t, "p"), 0);
    t->owner_pid = 1; /* as in a fork */
    assert_int_equal(toll_mark_gauge(t, "g", 1), -ESRCH);
    t->owner_pid = getpid();
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_int_equal(t->summary.marks.phases[0].count, 1);
    assert_int_equal(toll_mark_gauge(t, "late", 1), 1);
    toll_tracker_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_what_is_sent),
        cmocka_unit_test(test_to_a_tracker),
    };
    return RUN("marks", tests);
}
