/* SPDX-License-Identifier: MIT */
#include "engine/target/reap.h"

#include "unit.h"

static void test_senders_are_ours(void **state)
{
    struct toll_tracker t = {0};
    struct sink plain = {0}, sends = {0}, *sinks[] = {&plain, &sends};
    struct sender_plan plan = {.queue_bytes = 1000};
    pid_t threads[OWN_THREADS_AT_MOST];
    t.sinks = sinks;
    t.sink_count = 2;
    assert_int_equal(own_threads_list(&t, threads), 0);
    assert_int_equal(sender_new(&sends.sender, &plan), 0);
    assert_int_equal(own_threads_list(&t, threads), 0); /* not started yet */
    assert_int_equal(sender_start(sends.sender), 0);
    assert_int_equal(own_threads_list(&t, threads), 1);
    assert_int_equal(threads[0], sender_thread(sends.sender));
    assert_true(own_threads_cpu_ns(&t) > 0);
    own_threads_leave_out(&t);
    assert_int_equal(t.reader.own.other_count, 0); /* no program measures itself */
    t.reader.own.pid = getpid();
    own_threads_leave_out(&t);
    assert_int_equal(t.reader.own.other_count, 1);
    own_thread_done(&t.reader.own);
    sender_free(sends.sender);
}

static void test_more_than_can_be_told_apart(void **state)
{
    enum { MANY = OWN_THREADS_AT_MOST + 3 };
    struct toll_tracker t = {0};
    struct sink all[MANY] = {0}, *sinks[MANY];
    struct sender_plan plan = {.queue_bytes = 1000};
    pid_t threads[OWN_THREADS_AT_MOST];
    t.sinks = sinks;
    t.sink_count = MANY;
    for (unsigned i = 0; i < MANY; i++) {
        sinks[i] = &all[i];
        assert_int_equal(sender_new(&all[i].sender, &plan), 0);
        assert_int_equal(sender_start(all[i].sender), 0);
    }
    assert_int_equal(own_threads_list(&t, threads), MANY);
    for (unsigned i = 0; i < MANY; i++)
        sender_free(all[i].sender);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_senders_are_ours),
        cmocka_unit_test(test_more_than_can_be_told_apart),
    };
    return RUN("own_threads", tests);
}
