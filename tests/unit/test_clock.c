/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include "base/util.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static void test_scripted(void **state)
{
    const struct clock scripted = {.mono_ns = 11, .real_ns = 22};
    assert_int_equal(clock_mono(&scripted), 11);
    assert_int_equal(clock_real(&scripted), 22);
}

static void test_live(void **state)
{
    uint64_t before = clock_mono(NULL);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    uint64_t after = clock_mono(NULL);
    assert_true(after - before >= 2 * NS_PER_MS);

    time_t now = time(NULL);
    uint64_t real = clock_real(NULL) / NS_PER_SECOND;
    assert_in_range(real, (uint64_t)now, (uint64_t)now + 60);
}

static void burn(uint64_t ns)
{
    uint64_t start = clock_own_cpu();
    while (clock_own_cpu() - start < ns)
        ;
}

static void test_own_cpu(void **state)
{
    uint64_t before = 0, after = 0;
    assert_int_equal(clock_process_cpu(getpid(), &before), 0);
    burn(3 * NS_PER_MS);
    assert_int_equal(clock_process_cpu(getpid(), &after), 0);
    assert_true(after - before >= 3 * NS_PER_MS);
    assert_true(clock_own_cpu() >= after);
}

static void test_child(void **state)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        burn(5 * NS_PER_MS);
        raise(SIGSTOP);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    uint64_t ns = 0;
    assert_int_equal(clock_process_cpu(child, &ns), 0);
    assert_true(ns >= 5 * NS_PER_MS);

    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    ns = 77;
    assert_int_equal(clock_process_cpu(child, &ns), -ESRCH);
    assert_int_equal(ns, 77);
}

static void test_no_such_process(void **state)
{
    uint64_t ns = 77;
    assert_int_equal(clock_process_cpu(0x1FFFFFFE, &ns), -ESRCH);
    assert_int_equal(ns, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripted),        cmocka_unit_test(test_live),
        cmocka_unit_test(test_own_cpu),         cmocka_unit_test(test_child),
        cmocka_unit_test(test_no_such_process),
    };
    return RUN("clock", tests);
}
