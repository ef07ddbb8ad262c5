/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "base/util.h"
#include "unit.h"

#include <stdio.h>

#define FIELDS " S 1200 1234 1200 34816 1234 4194304 101 5 7 8 12 3 40 2 20 0 6 0 54223 3133440 397"
#define TAIL   " 18446744073709551615 1 1 0 0 0 0 0 0 65536 0 0 0 17 1 0 0 0 0 0 1 1 1 1 1 1 1 0\n"

static const char good[] = "1234 (a b) R 1)" FIELDS TAIL;

/* All but the name, which points into a text that is gone by then. */
static bool same(const struct pid_stat *a, const struct pid_stat *b)
{
    return a->pid == b->pid && a->parent == b->parent && a->state == b->state &&
           a->name_length == b->name_length && a->faults_minor == b->faults_minor &&
           a->start_ticks == b->start_ticks && a->virtual_bytes == b->virtual_bytes &&
           a->rss_pages == b->rss_pages;
}

PARSER_HARNESS(parse_pid_stat, struct pid_stat, same)

static void test_good(void **state)
{
    struct pid_stat st;
    assert_int_equal(parse(good, &st), 0);
    assert_int_equal(st.pid, 1234);
    assert_int_equal(st.parent, 1200);
    assert_int_equal(st.state, 'S');
    assert_int_equal(st.faults_minor, 101);
    assert_int_equal(st.children_faults_minor, 5);
    assert_int_equal(st.faults_major, 7);
    assert_int_equal(st.children_faults_major, 8);
    assert_int_equal(st.user_ticks, 12);
    assert_int_equal(st.system_ticks, 3);
    assert_int_equal(st.children_user_ticks, 40);
    assert_int_equal(st.children_system_ticks, 2);
    assert_int_equal(st.threads, 6);
    assert_int_equal(st.start_ticks, 54223);
    assert_int_equal(st.virtual_bytes, 3133440);
    assert_int_equal(st.rss_pages, 397);
    assert_false(st.is_leaving);
    assert_false(st.before_exec);
    assert_int_equal(st.start_stack, 0);
}

/* Between fork and exec. Old kernels, and texts that were cut, have no address of the stack. */
static void test_before_exec(void **state)
{
    struct pid_stat st;
    assert_int_equal(parse("9 (sh) S 1 9 9 0 -1 4194368 1 0 0 0 0 0 0 0 20 0 1 0 77 4096 5 "
                           "18446744073709551615 1000 2000 140725 0 0\n",
                           &st),
                     0);
    assert_true(st.before_exec);
    assert_int_equal(st.start_stack, 140725);
    assert_int_equal(parse("9 (sh) S 1 9 9 0 -1 64 1 0 0 0 0 0 0 0 20 0 1 0 77 4096 5 1\n", &st),
                     0);
    assert_int_equal(st.start_stack, 0);
}

/* Still running in the kernel, but not for long. */
static void test_leaving(void **state)
{
    struct pid_stat st;
    assert_int_equal(parse("9 (sh) R 1 9 9 0 -1 4194308 1 0 0 0 0 0 0 0 20 0 1 0 77 0 0" TAIL, &st),
                     0);
    assert_true(st.is_leaving);
}

static void test_kernel_thread(void **state)
{
    struct pid_stat st;
    assert_int_equal(parse(good, &st), 0);
    assert_false(st.of_kernel);
    assert_int_equal(
        parse("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 1 0 30 0 0" TAIL, &st), 0);
    assert_true(st.of_kernel);
}

static void test_names(void **state)
{
    static const char *const names[] = {
        "cat",
        "a b) R 1",
        "a) S 1 2 3 4 5 6 7 8 9 (b",
        "(",
        ")",
        "",
        " ",
        "))",
        "\n",
        "1 (x",
        "kworker/u4:2-events_unbound",
        "\xc3\xa9\xff",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[512];
        snprintf(text, sizeof text, "1234 (%s)" FIELDS TAIL, names[i]);
        struct pid_stat st;
        assert_int_equal(parse_pid_stat(scan_string(text), &st), 0);
        assert_int_equal(st.name_length, strlen(names[i]));
        assert_memory_equal(st.name, names[i], st.name_length);
        assert_int_equal(st.parent, 1200);
        assert_int_equal(st.rss_pages, 397);
    }
}

static void test_cut_short(void **state)
{
    check_cuts(good, -ESRCH);
    struct pid_stat st;
    assert_int_equal(parse("1234 (a b) R 1)" FIELDS, &st), -EBADMSG); /* 397 or 3970? */
}

static void test_zombie(void **state)
{
    struct pid_stat st;
    assert_int_equal(parse("9 (sh) Z 1 9 9 0 -1 4227084 1 0 0 0 0 0 0 0 20 0 1 0 77 0 0" TAIL, &st),
                     0);
    assert_int_equal(st.state, 'Z');
    assert_true(st.is_leaving);
    assert_int_equal(st.rss_pages, 0);
}

/* Linux 2.6 ended earlier, a later one may end later. */
static void test_old_and_new_kernel(void **state)
{
    struct pid_stat st;
    assert_int_equal(parse("1234 (cat)" FIELDS " 4294967295 1 1 0 0 0 0 0\n", &st), 0);
    assert_int_equal(st.rss_pages, 397);
    assert_int_equal(parse("1234 (cat)" FIELDS
                           " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "
                           "21 22 23 24 25 26 27 28 29 30 31 32\n",
                           &st),
                     0);
    assert_int_equal(st.rss_pages, 397);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "1234",
        "1234 ",
        "1234 (",
        "1234 (cat",
        "1234 (cat)",
        "1234 (cat) ",
        "cat (1234)" FIELDS TAIL,
        "1234 cat" FIELDS TAIL,
        "1234 (cat)\n" FIELDS TAIL "x",
        "1234 (cat) S x 1 1 0 0 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
        "1234 (cat) S 1 1 1 0\n0 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
        "1234 (cat)" FIELDS TAIL ")",
    };
    struct pid_stat st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &st), -EBADMSG);
}

static void test_huge(void **state)
{
    struct pid_stat st;
    assert_int_equal(
        parse("2147483647 (cat) S 0 1 1 0 -1 0 18446744073709551615 0 0 0 0 0 0 0 20 0 "
              "1 0 1 18446744073709551615 1 0\n",
              &st),
        0);
    assert_int_equal(st.pid, 2147483647);
    assert_true(st.faults_minor == UINT64_MAX && st.virtual_bytes == UINT64_MAX);
    assert_int_equal(parse("2147483648 (cat)" FIELDS TAIL, &st), -EBADMSG);
    assert_int_equal(parse("4294967297 (cat)" FIELDS TAIL, &st), -EBADMSG);
    assert_int_equal(
        parse("1 (cat) S 4294967297 1 1 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 1 1 1 0\n", &st), -EBADMSG);
    assert_int_equal(parse("1 (cat) S 0 1 1 0 -1 0 18446744073709551616 0 0 0 0 0 0 0 20 0 1 0 1 1 "
                           "1 0\n",
                           &st),
                     -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),        cmocka_unit_test(test_kernel_thread),
        cmocka_unit_test(test_names),       cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_zombie),      cmocka_unit_test(test_old_and_new_kernel),
        cmocka_unit_test(test_garbage),     cmocka_unit_test(test_huge),
        cmocka_unit_test(test_before_exec), cmocka_unit_test(test_leaving),
    };
    return RUN("pid_stat", tests);
}
