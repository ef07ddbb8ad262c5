/* SPDX-License-Identifier: MIT */
#include "record/read_figures.h"

#include "unit.h"

static struct json_in *json(const char *text)
{
    static struct json_in j;
    json_in_done(&j);
    j = (struct json_in){0};
    json_in_begin(&j, text, strlen(text));
    return &j;
}

static void test_values(void **state)
{
    uint64_t u = 5;
    double d = 5;
    pid_t pid = 5;
    assert_true(read_seconds(json("1.5"), &u) && u == 1500000000);
    assert_false(read_seconds(json("-1"), &u));
    assert_true(read_u64(json("7"), &u) && u == 7);
    assert_true(read_u64(json("null"), &u) && u == 7); /* it stays */
    assert_false(read_u64(json("-7"), &u));
    assert_true(read_double(json("-2.5e3"), &d) && d == -2500);
    assert_true(read_pid(json("123"), &pid) && pid == 123);
    assert_false(read_pid(json("2147483648"), &pid));
    assert_true(read_utc(json("\"1970-01-01T00:00:01.500Z\""), &u) && u == 1500000000);
    assert_false(read_utc(json("\"1970-01-01\""), &u));
    json("");
}

static void test_words(void **state)
{
    static const char *const words[] = {"a", NULL, "c"};
    char name[4];
    assert_int_equal(read_word(json("\"c\""), words, 3), 2);
    assert_int_equal(read_word(json("\"b\""), words, 3), -1);
    assert_int_equal(read_word(json("3"), words, 3), -1);
    assert_true(read_name(json("\"abcdef\""), name, sizeof name));
    assert_string_equal(name, "abc");
    assert_false(read_name(json("5"), name, sizeof name));
    json("");
}

static void test_what_is_skipped(void **state)
{
    struct reading r = {0};
    struct scan first = scan_string("first"), second = scan_string("second");
    json_in_begin(&r.json, "[[1,2],{}]", 10);
    json_in_array(&r.json);
    assert_true(json_in_item(&r.json));
    reading_skip(&r, &first);
    assert_true(json_in_item(&r.json));
    reading_skip(&r, &second);
    assert_string_equal(r.unknown, "first");
    assert_string_equal(reading_keep(&r, scan_text("abc", 2)), "ab");
    json_in_done(&r.json);
    arena_done(&r.kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_what_is_skipped),
    };
    return RUN("reading", tests);
}
