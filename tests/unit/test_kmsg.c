/* SPDX-License-Identifier: MIT */
#include "source/cgroup/limits.h"

#include "base/util.h"
#include "unit.h"

static void test_good(void **state)
{
    struct kmsg k;
    assert_int_equal(parse_kmsg(scan_string("3,4531,3674722581,-;Out of memory: Killed process "
                                            "29095 (toll) total-vm:24kB\n SUBSYSTEM=x\n"),
                                &k),
                     0);
    assert_int_equal(k.sequence, 4531);
    assert_int_equal(k.time_us, 3674722581);
    assert_true(kmsg_tells_killed(k.message, 29095));
    assert_false(kmsg_tells_killed(k.message, 2909));
    assert_false(kmsg_tells_killed(k.message, 29096));
    assert_int_equal(parse_kmsg(scan_string("6,1,2,-,caller=T1;plain; text\n"), &k), 0);
    assert_true(*k.message.at == 'p');
    assert_false(kmsg_tells_killed(k.message, 1));
}

static void test_wordings(void **state)
{
    assert_true(kmsg_tells_killed(
        scan_string("Memory cgroup out of memory: Killed process 47 (job) total-vm:1kB"), 47));
    assert_true(kmsg_tells_killed(scan_string("Killed process 47 (job) total-vm:1kB"), 47));
    assert_true(kmsg_tells_killed(scan_string("Killed process 47, UID 1000, (job) total"), 47));
    assert_false(kmsg_tells_killed(
        scan_string("Memory cgroup out of memory: Kill process 47 (job) score 9"), 47));
    assert_false(kmsg_tells_killed(scan_string("Killed process 47"), 47));
    assert_false(kmsg_tells_killed(scan_string("Killed process x (job)"), 47));
    assert_false(kmsg_tells_killed(scan_string(""), 47));
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "",          "\n",          "x,1,2,-;m\n",
        "3,1\n",     "3,1,2\n",     "3,1,2;m\n",
        "3,1,2,-\n", "3,x,2,-;m\n", "3,99999999999999999999,2,-;m\n"};
    struct kmsg k;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        memset(&k, UNTOUCHED, sizeof k);
        assert_int_equal(parse_kmsg(scan_string(texts[i]), &k), -EBADMSG);
        assert_true(is_untouched(&k, sizeof k));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_wordings),
        cmocka_unit_test(test_garbage),
    };
    return RUN("kmsg", tests);
}
