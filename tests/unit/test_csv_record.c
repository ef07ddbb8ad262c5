/* SPDX-License-Identifier: MIT */
#include "base/text/scan.h"

#include "unit.h"

static struct csv_record record;

static int parse(const char *line)
{
    char *copy = exact_copy(line, strlen(line));
    int r = parse_csv_record(scan_text(copy, strlen(line)), &record);
    free(copy);
    return r;
}

static void check(const char *line, size_t count, const char *const *cells)
{
    assert_int_equal(parse(line), 0);
    assert_int_equal(record.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(csv_record_cell(&record, i), cells[i]);
}

static void test_cells(void **state)
{
    check("812,load,0,1.5", 4, (const char *const[]){"812", "load", "0", "1.5"});
    check("a,b\r", 2, (const char *const[]){"a", "b"});
    check("", 1, (const char *const[]){""});
    check(",", 2, (const char *const[]){"", ""});
    check("\"a,\"\"b\"\"\",c", 2, (const char *const[]){"a,\"b\"", "c"});
    check("\"\",x", 2, (const char *const[]){"", "x"});
    check("a\"b,c", 2, (const char *const[]){"a\"b", "c"});
    check("\"two\nlines\",1", 2, (const char *const[]){"two\nlines", "1"});
}

static void test_bad(void **state)
{
    assert_int_equal(parse("\"open"), -EAGAIN);
    assert_int_equal(parse("a,\"open\"\""), -EAGAIN);
    assert_int_equal(parse("\"a\"b,c"), -EBADMSG);
    assert_int_equal(parse_csv_record(scan_text("a\0b", 3), &record), -EBADMSG);
    char commas[CSV_CELLS_AT_MOST + 1];
    memset(commas, ',', sizeof commas);
    assert_int_equal(parse_csv_record(scan_text(commas, sizeof commas - 2), &record), 0);
    assert_int_equal(parse_csv_record(scan_text(commas, sizeof commas - 1), &record), -E2BIG);
}

static void test_written_is_read(void **state)
{
    static const char *const cells[] = {"plain", "a,b", "say \"x\"", "line\nbreak", "", "é"};
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
        buf_puts(&b, i ? "," : "");
        csv_record_write(&b, cells[i]);
    }
    check(b.data, ARRAY_LEN(cells), cells);
    buf_done(&b);
}

static void test_names_that_look_like_formulas(void **state)
{
    static const struct {
        const char *name, *cell;
    } cases[] = {
        {"load", "load"}, {"=1+1", "'=1+1"}, {"+x", "'+x"},       {"-x", "'-x"},
        {"@x", "'@x"},    {"\tx", "'\tx"},   {"\rx", "\"'\rx\""}, {"=a,\"b\"", "\"'=a,\"\"b\"\"\""},
        {"'=1", "''=1"},  {"''-", "'''-"},   {"it's", "it's"},    {"'quoted'", "'quoted'"},
        {"a=b", "a=b"},   {"", ""},          {"'", "'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = {0};
        csv_record_write_name(&b, cases[i].name);
        assert_string_equal(b.data ? b.data : "", cases[i].cell);
        assert_int_equal(parse_csv_record(scan_text(b.data ? b.data : "", b.length), &record), 0);
        assert_string_equal(csv_record_plain(csv_record_cell(&record, 0)), cases[i].name);
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_written_is_read),
        cmocka_unit_test(test_names_that_look_like_formulas),
    };
    int failed = RUN("csv_record", tests);
    csv_record_done(&record);
    return failed;
}
