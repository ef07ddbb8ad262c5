/* SPDX-License-Identifier: MIT */
#include "engine/step.h"

#include "engine/compat/replay.h"
#include "source/pid_files.h"
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void test_when_it_is_due(void **state)
{
    struct toll_tracker t = {.start_ns = 1000};
    assert_int_equal(timeout_due(&t), UINT64_MAX);
    t.options.timeout_ns = 500;
    assert_int_equal(timeout_due(&t), 1500);
    t.timeout.term_sent = true;
    assert_int_equal(timeout_due(&t), 1500 + 10 * NS_PER_SECOND);
    t.options.grace_ns = 7;
    assert_int_equal(timeout_due(&t), 1507);
    t.options.grace_ns = UINT64_MAX; /* never, not at once */
    assert_true(timeout_due(&t) == UINT64_MAX);
    t.timeout.killed = true; /* what was born in the meantime is killed too … */
    t.timeout.again_ns = 2000;
    assert_int_equal(timeout_due(&t), 2000);
    t.timeout.is_over = true; /* … until more cannot be done */
    assert_int_equal(timeout_due(&t), UINT64_MAX);
    t.timeout.is_over = false;
    t.replay = (struct replay *)&t; /* nobody to signal in a recording */
    assert_int_equal(timeout_due(&t), UINT64_MAX);
}

static unsigned notes;

static void note(void *arg, const char *sentence)
{
    notes += strstr(sentence, "SIGKILL") != NULL;
}

/* Runs a script with a timeout to its end. */
static struct toll_end run(const char *script, uint64_t timeout_ns, uint64_t grace_ns)
{
    struct toll_options o = {
        .size = sizeof o, .timeout_ns = timeout_ns, .grace_ns = grace_ns, .note = note};
    struct toll_tracker *t = NULL;
    notes = 0;
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    char *argv[] = {strdupa("sh"), strdupa("-c"), strdupa(script), NULL};
    assert_int_equal(toll_tracker_launch(t, argv, NULL, NULL), 0);
    while (toll_tracker_step(t) > 0) {
        struct pollfd fd = {.fd = toll_tracker_fd(t), .events = POLLIN};
        assert_true(poll(&fd, 1, 60000) > 0); /* it would hang; no statement about speed */
    }
    struct toll_end end = {.size = sizeof end};
    assert_int_equal(toll_tracker_finish(t, &end), 0);
    toll_tracker_free(t);
    return end;
}

static void test_sigterm_is_enough(void **state)
{
    struct toll_end end = run("exec sleep 1000", 20 * NS_PER_MS, 0);
    assert_true(end.signaled && end.timed_out);
    assert_int_equal(end.status, SIGTERM);
    assert_int_equal(notes, 0);
}

/* It is told before it is killed, and its children are killed with it. */
static void test_sigkill_after_the_grace(void **state)
{
    struct toll_end end = run("trap '' TERM; while :; do sleep 1000; done", 50 * NS_PER_MS,
                              50 * NS_PER_MS);
    assert_true(end.signaled && end.timed_out);
    assert_int_equal(end.status, SIGKILL);
    assert_int_equal(notes, 1);
}

static bool kill_fails;

/* Takes the place of the C library's. */
int kill(pid_t pid, int number)
{
    errno = EPERM;
    return kill_fails ? -1 : (int)syscall(SYS_kill, pid, number);
}

/* A number may be another process's by the time it is signalled, a pidfd never is. */
static void test_without_numbers_of_processes(void **state)
{
    int pidfd = launch_open_pidfd(getpid());
    if (pidfd < 0)
        skip();
    close(pidfd);
    kill_fails = true;
    struct toll_end end = run("sleep 1000 & trap '' TERM; while :; do sleep 1000; done",
                              50 * NS_PER_MS, 50 * NS_PER_MS);
    kill_fails = false;
    assert_true(end.signaled && end.timed_out);
    assert_int_equal(end.status, SIGKILL);
}

/* The process that has the number is not the one that was read before. */
static void test_a_number_that_is_used_again(void **state)
{
    struct sysroot root = SYSROOT_NONE;
    struct process_reader reader;
    struct pid_stat st;
    assert_int_equal(sysroot_open_proc(&root, NULL), 0);
    assert_int_equal(process_reader_init(&reader, &root, 0), 0);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    ssize_t n = process_read_once(&reader, child, "stat");
    assert_true(n > 0 && parse_pid_stat(scan_text(reader.text, (size_t)n), &st) == 0);
    struct entity e = {.kind = ENTITY_PROCESS, .pid = child, .start_ticks = st.start_ticks + 1};
    assert_int_equal(timeout_signal(&reader, &e, SIGKILL), -ESRCH);
    e.start_ticks = st.start_ticks;
    assert_int_equal(timeout_signal(&reader, &e, SIGTERM), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(timeout_signal(&reader, &e, SIGTERM), -ESRCH);
    process_reader_done(&reader);
    sysroot_close(&root);
}

static void test_a_command_that_is_in_time(void **state)
{
    struct toll_end end = run("exit 3", 3600 * NS_PER_SECOND, 0);
    assert_false(end.signaled || end.timed_out);
    assert_int_equal(end.status, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_it_is_due),
        cmocka_unit_test(test_sigterm_is_enough),
        cmocka_unit_test(test_sigkill_after_the_grace),
        cmocka_unit_test(test_without_numbers_of_processes),
        cmocka_unit_test(test_a_number_that_is_used_again),
        cmocka_unit_test(test_a_command_that_is_in_time),
    };
    return RUN("timeout", tests);
}
