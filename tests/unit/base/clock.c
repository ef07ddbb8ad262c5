/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/util.h"
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* ---- clock ---------------------------------------------------------------------------------- */

static void test_clock_scripted(void **state)
{
    const struct clock scripted = {.mono_ns = 11, .real_ns = 22};
    assert_int_equal(clock_mono(&scripted), 11);
    assert_int_equal(clock_real(&scripted), 22);
}

static void test_clock_live(void **state)
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

static void test_clock_own_cpu(void **state)
{
    uint64_t before = 0, after = 0;
    assert_int_equal(clock_process_cpu(getpid(), &before), 0);
    burn(3 * NS_PER_MS);
    assert_int_equal(clock_process_cpu(getpid(), &after), 0);
    assert_true(after - before >= 3 * NS_PER_MS);
    assert_true(clock_own_cpu() >= after);
}

static void test_clock_child(void **state)
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

static void test_clock_no_such_process(void **state)
{
    uint64_t ns = 77;
    assert_int_equal(clock_process_cpu(0x1FFFFFFE, &ns), -ESRCH);
    assert_int_equal(ns, 77);
}

/* ---- uuid ----------------------------------------------------------------------------------- */

/* The example of RFC 9562, appendix A.6: 2022-02-22 19:22:22 UTC. */
static void test_uuid_the_example_of_the_standard(void **state)
{
    static const uint8_t random[UUID_RANDOM_BYTES] = {0x0C, 0xC3, 0x18, 0xC4, 0xDC,
                                                      0x0C, 0x0C, 0x07, 0x39, 0x8F};
    char id[UUID_BYTES];
    uuid_make(id, UINT64_C(0x017F22E279B0) * NS_PER_MS, random);
    assert_string_equal(id, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

/* Of the same moment, and yet no two alike; the later ones sort behind. */
static void test_uuid_no_two_alike(void **state)
{
    enum { MANY = 200 };
    char ids[MANY][UUID_BYTES], later[UUID_BYTES];
    uint64_t now_ns = UINT64_C(1731000000000000000);
    uuid_make(later, now_ns + NS_PER_MS, NULL);
    for (unsigned i = 0; i < MANY; i++) {
        uuid_make(ids[i], now_ns, NULL);
        assert_true(uuid_is(ids[i], strlen(ids[i])));
        assert_int_equal(ids[i][14], '7');
        assert_non_null(strchr("89ab", ids[i][19]));
        assert_true(strcmp(ids[i], later) < 0);
        for (unsigned other = 0; other < i; other++)
            assert_string_not_equal(ids[i], ids[other]);
    }
}

static void test_uuid_what_is_one(void **state)
{
    static const char good[] = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    assert_true(uuid_is(good, strlen(good)));
    assert_false(uuid_is(good, strlen(good) - 1));
    assert_false(uuid_is("", 0));
    assert_false(uuid_is("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", 36));
    assert_false(uuid_is("017f22e2079b0-7cc3-98c4-dc0c0c07398f", 36));
    assert_false(uuid_is("017f22e2-79b0-7cc3-98c4-dc0c0c07398/", 36));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_scripted),
        cmocka_unit_test(test_clock_live),
        cmocka_unit_test(test_clock_own_cpu),
        cmocka_unit_test(test_clock_child),
        cmocka_unit_test(test_clock_no_such_process),
        cmocka_unit_test(test_uuid_the_example_of_the_standard),
        cmocka_unit_test(test_uuid_no_two_alike),
        cmocka_unit_test(test_uuid_what_is_one),
    };
    return RUN("base/clock", tests);
}
