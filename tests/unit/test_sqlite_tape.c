/* SPDX-License-Identifier: MIT */
#include "record/sqlite/rows.h"

#include "unit.h"

#include <math.h>

static void write_all(struct buf *b)
{
    struct json_out j;
    sqlite_row_log_row(b, 7);
    sqlite_row_log_i64(b, INT64_MIN);
    sqlite_row_log_u64(b, INT64_MAX);
    sqlite_row_log_u64(b, (uint64_t)INT64_MAX + 1);
    sqlite_row_log_double(b, 0.1);
    sqlite_row_log_double(b, NAN);
    sqlite_row_log_text(b, "a\xFFz");
    sqlite_row_log_text(b, "");
    sqlite_row_log_text(b, NULL);
    size_t began = sqlite_row_log_json(b, &j);
    json_object(&j);
    json_put_u64(&j, "b", 2);
    json_object_end(&j);
    sqlite_row_log_json_end(b, began);
    sqlite_row_log_row(b, 0);
}

static void expect_text(const struct row_log_item *item, const char *text)
{
    assert_int_equal(item->text.end - item->text.at, strlen(text));
    assert_memory_equal(item->text.at, text, strlen(text));
}

static void test_what_goes_in_comes_out(void **state)
{
    struct buf b = {0};
    struct row_log_item item = {0};
    write_all(&b);
    struct scan row_log = scan_text(b.data, b.length);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_ROW);
    assert_int_equal(item.statement, 7);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_I64);
    assert_true(item.i == INT64_MIN);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_I64);
    assert_true(item.i == INT64_MAX);
    assert_int_equal(sqlite_row_log_next(&row_log, &item),
                     TAPE_NULL); /* SQLite has no such number */
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_DOUBLE);
    assert_true(item.d == 0.1);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_NULL);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_TEXT);
    expect_text(&item, "a\xC3\xBFz");
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_TEXT);
    expect_text(&item, "");
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_NULL);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_TEXT);
    expect_text(&item, "{\"b\":2}");
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_ROW);
    assert_int_equal(item.statement, 0);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), TAPE_END);
    buf_done(&b);
}

static void test_cut_short(void **state)
{
    struct buf b = {0};
    write_all(&b);
    for (size_t length = 0; length < b.length; length++) {
        char *copy = exact_copy(b.data, length);
        struct scan row_log = scan_text(copy, length);
        struct row_log_item item;
        unsigned items = 0;
        while (sqlite_row_log_next(&row_log, &item) != TAPE_END)
            items++;
        assert_true(items < 12);
        free(copy);
    }
    struct scan garbage = scan_string("\x63\x63\x63");
    struct row_log_item item;
    assert_int_equal(sqlite_row_log_next(&garbage, &item), TAPE_END);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_goes_in_comes_out),
        cmocka_unit_test(test_cut_short),
    };
    return RUN("sqlite_tape", tests);
}
