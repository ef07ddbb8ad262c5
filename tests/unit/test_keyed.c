/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "unit.h"

static const struct keyed keys[] = {{"Pss:", keyed_kib}, {"Threads:", scan_u64}};

static int read_keys(const char *text, uint64_t values[2])
{
    char *copy = exact_copy(text, strlen(text));
    int seen = keyed_read(scan_text(copy, strlen(text)), keys, ARRAY_LEN(keys), values);
    free(copy);
    return seen;
}

static void test_kib(void **state)
{
    uint64_t bytes = 0;
    struct scan s = scan_string("\t  1628 kB\n");
    assert_true(keyed_kib(&s, &bytes));
    assert_int_equal(bytes, 1628 * 1024);
    assert_int_equal(*s.at, '\n');

    static const char *const bad[] = {
        "", "1", "1 k", "1 MB", "1kB", "x kB", "18014398509481984 kB", "18446744073709551616 kB"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        s = scan_string(bad[i]);
        assert_false(keyed_kib(&s, &bytes));
        assert_ptr_equal(s.at, bad[i]);
    }
    assert_int_equal(bytes, 1628 * 1024);
}

static void test_whole_keys_in_any_order(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("Pss_Dirty: 9 kB\nThreads:\t3\n\nPss: 1 kB\n", values), 3);
    assert_int_equal(values[0], 1024);
    assert_int_equal(values[1], 3);
}

static void test_missing(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("", values), 0);
    assert_int_equal(read_keys("\n\n", values), 0);
    assert_int_equal(read_keys("Threads: 3\n", values), 2);
    assert_int_equal(read_keys(" Threads: 3\n", values), 0);
    assert_int_equal(read_keys("Threads", values), 0);
}

static void test_last_line_without_newline(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("Pss: 1 kB\nThreads: 3", values), 1);
}

static void test_stops_when_it_has_all(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("Pss: 1 kB\nThreads: 3\nPss: x\n", values), 3);
}

static void test_bad_value(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("Pss: 1\n", values), -EBADMSG);
    assert_int_equal(read_keys("Threads:\n", values), -EBADMSG);
    assert_int_equal(read_keys("Threads: 1 \n", values), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kib),
        cmocka_unit_test(test_whole_keys_in_any_order),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_last_line_without_newline),
        cmocka_unit_test(test_stops_when_it_has_all),
        cmocka_unit_test(test_bad_value),
    };
    return RUN("keyed", tests);
}
