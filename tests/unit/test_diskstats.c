/* SPDX-License-Identifier: MIT */
#include "source/machine/disks.h"

#include "base/util.h"
#include "unit.h"

static const char vda[] = " 254       0 vda 241180 43510 19290002 323281 325734 533479 37954896 "
                          "221104 3 202924 639245 709421 262 29569984 94792 1213 67\n";

static int parse_line(const char *text, struct diskstats *ret)
{
    struct scan s = scan_string(text);
    memset(ret, UNTOUCHED, sizeof *ret);
    int r = parse_diskstats_line(&s, ret);
    assert_true(r > 0 || is_untouched(ret, sizeof *ret));
    return r;
}

static void test_good(void **state)
{
    struct diskstats d;
    assert_int_equal(parse_line(vda, &d), 1);
    assert_int_equal(d.major, 254);
    assert_int_equal(d.minor, 0);
    assert_string_equal(d.name, "vda");
    assert_int_equal(d.fields, DISKSTATS_FIELDS);
    assert_int_equal(d.values[DISKSTATS_READS], 241180);
    assert_int_equal(d.values[DISKSTATS_READ_SECTORS], 19290002);
    assert_int_equal(d.values[DISKSTATS_WRITTEN_SECTORS], 37954896);
    assert_int_equal(d.values[DISKSTATS_IN_FLIGHT], 3);
    assert_int_equal(d.values[DISKSTATS_ACTIVE_MS], 202924);
    assert_int_equal(d.values[DISKSTATS_QUEUE_MS], 639245);
    assert_int_equal(d.values[DISKSTATS_DISCARDED_SECTORS], 29569984);
    assert_int_equal(d.values[DISKSTATS_FLUSH_MS], 67);
}

static void test_cut_short(void **state)
{
    for (size_t length = 0; length < strlen(vda); length++) {
        char *copy = exact_copy(vda, length);
        struct scan s = scan_text(copy, length);
        struct diskstats d;
        assert_int_equal(parse_diskstats_line(&s, &d), length ? -EBADMSG : 0);
        free(copy);
    }
}

static void test_kernels(void **state)
{
    struct diskstats d;
    assert_int_equal(parse_line("8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n", &d), 1);
    assert_int_equal(d.fields, DISKSTATS_DISCARDS);
    assert_int_equal(parse_line("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n", &d), 1);
    assert_int_equal(d.fields, DISKSTATS_FLUSHES);
    assert_int_equal(parse_line("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x\n", &d), 1);
    assert_int_equal(d.fields, DISKSTATS_FIELDS);
}

static void test_a_bad_line_hides_no_other(void **state)
{
    struct diskstats d;
    struct scan s = scan_string("nonsense\n8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n");
    assert_int_equal(parse_diskstats_line(&s, &d), -EBADMSG);
    assert_int_equal(parse_diskstats_line(&s, &d), 1);
    assert_int_equal(parse_diskstats_line(&s, &d), 0);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "8 0\n",
        "8 0 sda\n",
        "8 0 sda1 1 2 3 4\n",
        "8 0 sda 1 2 3 4 5 6 7 8 9 10 x\n",
        "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 x\n",
        "8 0 .. 1 2 3 4 5 6 7 8 9 10 11\n",
        "8 0 \033[2J 1 2 3 4 5 6 7 8 9 10 11\n",
        "8 0 sda 1 2 3 4 5 6 7 8 9 10 18446744073709551616\n",
        "8 0 a-name-that-is-longer-than-any-of-them 1 2 3 4 5 6 7 8 9 10 11\n",
    };
    struct diskstats d;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse_line(texts[i], &d), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),    cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_a_bad_line_hides_no_other),
        cmocka_unit_test(test_garbage),
    };
    return RUN("diskstats", tests);
}
