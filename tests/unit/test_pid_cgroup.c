/* SPDX-License-Identifier: MIT */
#include "source/cgroup/place.h"

#include "base/util.h"
#include "unit.h"

#include <stdio.h>

static bool is(struct scan s, const char *text)
{
    return (size_t)(s.end - s.at) == strlen(text) && memcmp(s.at, text, strlen(text)) == 0;
}

static void test_good(void **state)
{
    struct scan s = scan_string("12:memory:/system.slice/cron.service\n"
                                "4:cpu,cpuacct:/\n"
                                "1:name=systemd:/a:b c\n"
                                "0::/x (deleted)\n");
    struct pid_cgroup p;
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_int_equal(p.hierarchy, 12);
    assert_true(is(p.controllers, "memory") && is(p.path, "/system.slice/cron.service"));
    assert_false(p.deleted);
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_true(is(p.controllers, "cpu,cpuacct") && is(p.path, "/"));
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_true(is(p.controllers, "name=systemd") && is(p.path, "/a:b c"));
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_int_equal(p.hierarchy, 0);
    assert_true(is(p.controllers, "") && is(p.path, "/x") && p.deleted);
    assert_int_equal(parse_pid_cgroup(&s, &p), 0);
}

static void test_cut_short(void **state)
{
    struct pid_cgroup p;
    struct scan s = scan_string("0::/job\n4:memory:/jo");
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_int_equal(parse_pid_cgroup(&s, &p), 0);
    s = scan_string("");
    assert_int_equal(parse_pid_cgroup(&s, &p), 0);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",     "0\n",     "0:/x\n",        "0::\n", "0::x\n",
        "x::/\n", "-1::/\n", "1x:memory:/\n", ":::\n", "99999999999999999999::/\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char text[128];
        snprintf(text, sizeof text, "%s0::/\n", texts[i]);
        struct scan s = scan_string(text);
        struct pid_cgroup p;
        memset(&p, UNTOUCHED, sizeof p);
        assert_int_equal(parse_pid_cgroup(&s, &p), -EBADMSG);
        assert_true(is_untouched(&p, sizeof p));
        assert_int_equal(parse_pid_cgroup(&s, &p), 1); /* one can go on */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_garbage),
    };
    return RUN("pid_cgroup", tests);
}
