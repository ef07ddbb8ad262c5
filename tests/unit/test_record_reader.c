/* SPDX-License-Identifier: MIT */
#include "record_lines.h"

static void test_several_runs(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "\n{'type':'sample','tick':0}\n" RUN_LINE
                              "{'type':'summary','schema':'toll.summary/1'}\n");
    assert_int_equal(record_next(&r, RECORD_RUN)->number, 1);
    assert_int_equal(record_next(&r, RECORD_FRAME)->number, 1);
    assert_non_null(record_next(&r, RECORD_SUMMARY)->cut_short);
    assert_int_equal(record_next(&r, RECORD_RUN)->number, 2);
    assert_null(record_next(&r, RECORD_SUMMARY)->cut_short);
    assert_int_equal(record_reader_next(r.reader, &r.item, NULL), 0);
    assert_int_equal(record_reader_next(r.reader, &r.item, NULL), 0); /* and stays there */
    record_end(&r);
}

static void test_half_a_line(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','tick':0}\n{'type':'sample','ti");
    record_next(&r, RECORD_RUN);
    record_next(&r, RECORD_FRAME);
    assert_non_null(strstr(record_next(&r, RECORD_SUMMARY)->cut_short, "last whole line"));
    record_end(&r);
}

static void test_narrow(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE);
    assert_int_equal(record_reader_narrow(r.reader, "cpu_*"), 0);
    assert_string_equal(record_next(&r, RECORD_RUN)->run->metrics, "cpu_*");
    record_end(&r);
}

static void expect_refusal(const char *text, int code, const char *sentence)
{
    struct record r;
    struct toll_error e = {0};
    record_begin(&r, text);
    int n;
    while ((n = record_reader_next(r.reader, &r.item, &e)) > 0)
        ;
    assert_int_equal(n, code);
    assert_non_null(strstr(e.message, sentence));
    record_end(&r);
}

static void test_no_records(void **state)
{
    expect_refusal("", -EBADMSG, "no record in it");
    expect_refusal("hello\n", -EBADMSG, "not a record");
    expect_refusal("{'type':'sample','tick':1}\n", -EBADMSG, "not a record");
    expect_refusal("{'type':'run','schema':'toll.record/9'}\n", -EBADMSG, "toll.record/9");
    expect_refusal(RUN_LINE "[1]\n" RUN_LINE, -EBADMSG, "line 2");
    record_reader_free(NULL);
}

static void test_no_file(void **state)
{
    struct record_reader *r = NULL;
    struct toll_error e = {0};
    assert_int_equal(record_reader_open(&r, "/nonexistent/x.jsonl", &e), -ENOENT);
    assert_null(r);
    assert_non_null(strstr(e.message, "/nonexistent/x.jsonl"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_runs), cmocka_unit_test(test_half_a_line),
        cmocka_unit_test(test_narrow),       cmocka_unit_test(test_no_records),
        cmocka_unit_test(test_no_file),
    };
    return RUN("record_reader", tests);
}
