/* SPDX-License-Identifier: MIT */
#include "base/text/scan.h"
#include "base/util.h"
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* ---- scan ----------------------------------------------------------------------------------- */

/* Reads a number from an exact copy and tells how much of it was consumed; -1 = refused, and then
 * nothing may be consumed or written. */
#define NUMBER_READER(type, function)                                                              \
    static int read_##type(const char *text, size_t length, type##_t *ret)                         \
    {                                                                                              \
        char *copy = exact_copy(text, length);                                                     \
        struct scan s = scan_text(copy, length);                                                   \
        memset(ret, UNTOUCHED, sizeof *ret);                                                       \
        bool ok = function(&s, ret);                                                               \
        int used = (int)(s.at - copy);                                                             \
        free(copy);                                                                                \
        assert_true(ok || (used == 0 && is_untouched(ret, sizeof *ret)));                          \
        return ok ? used : -1;                                                                     \
    }

typedef uint64_t hex_t;

typedef double decimal_t;

NUMBER_READER(uint64, scan_u64)

NUMBER_READER(int64, scan_i64)

NUMBER_READER(hex, scan_hex)

NUMBER_READER(decimal, scan_decimal)

static void test_scan_u64(void **state)
{
    static const struct {
        const char *text;
        int used;
        uint64_t value;
    } cases[] = {
        {"0", 1, 0},
        {"42", 2, 42},
        {" \t 42 7", 5, 42},
        {"007x", 3, 7},
        {"18446744073709551615", 20, UINT64_MAX},
        {"00000000000000000000000000000001", 32, 1},
        {"", -1, 0},
        {"   ", -1, 0},
        {"x", -1, 0},
        {"-1", -1, 0},
        {"+1", -1, 0},
        {"\n1", -1, 0},
        {"18446744073709551616", -1, 0},
        {"18446744073709551620", -1, 0},
        {"99999999999999999999", -1, 0},
        {"184467440737095516150", -1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t value;
        assert_int_equal(read_uint64(cases[i].text, strlen(cases[i].text), &value), cases[i].used);
        assert_true(cases[i].used < 0 || value == cases[i].value);
    }
}

static void test_scan_i64(void **state)
{
    static const struct {
        const char *text;
        int used;
        int64_t value;
    } cases[] = {
        {"0", 1, 0},
        {"-0", 2, 0},
        {" -1 ", 3, -1},
        {"9223372036854775807", 19, INT64_MAX},
        {"-9223372036854775808", 20, INT64_MIN},
        {"9223372036854775808", -1, 0},
        {"-9223372036854775809", -1, 0},
        {"-18446744073709551616", -1, 0},
        {"", -1, 0},
        {"-", -1, 0},
        {"- 1", -1, 0},
        {"--1", -1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t value;
        assert_int_equal(read_int64(cases[i].text, strlen(cases[i].text), &value), cases[i].used);
        assert_true(cases[i].used < 0 || value == cases[i].value);
    }
}

static void test_scan_hex(void **state)
{
    static const struct {
        const char *text;
        int used;
        uint64_t value;
    } cases[] = {
        {"\t0000000000011000\n", 17, 0x11000},
        {"ffffffffffffffff", 16, UINT64_MAX},
        {"FFff", 4, 0xFFFF},
        {"00000000000000000000001", 23, 1},
        {"0x10", 1, 0},
        {"10000000000000000", -1, 0},
        {"", -1, 0},
        {"g", -1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t value;
        assert_int_equal(read_hex(cases[i].text, strlen(cases[i].text), &value), cases[i].used);
        assert_true(cases[i].used < 0 || value == cases[i].value);
    }
}

static void test_scan_decimal(void **state)
{
    static const struct {
        const char *text;
        int used;
        double value;
    } cases[] = {
        {"0", 1, 0},
        {"1.25", 4, 1.25},
        {" .5", 3, 0.5},
        {"3.", 2, 3},
        {"10.0625s", 7, 10.0625},
        {"0.001", 5, 0.001},
        {"1,5", 1, 1},
        {"1e5", 1, 1},
        {"1.2.3", 3, 1.2},
        {"18446744073709551615", 20, 18446744073709551615.0},
        {"0.00000000000000000000000000000000000000000000000000000000000001", 64, 1e-62},
        {"18446744073709551616", -1, 0},
        {"99999999999999999999.5", -1, 0},
        {"", -1, 0},
        {".", -1, 0},
        {"-1", -1, 0},
        {"nan", -1, 0},
        {"inf", -1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double value;
        assert_int_equal(read_decimal(cases[i].text, strlen(cases[i].text), &value), cases[i].used);
        assert_true(cases[i].used < 0 || fabs(value - cases[i].value) <= 1e-13 * value);
    }
}

/* Numbers that touch the end of their block. */
static void test_scan_cut_short(void **state)
{
    static const char text[] = " \t-123.4567890abcdef";
    for (size_t length = 0; length < sizeof text; length++) {
        for (size_t from = 0; from <= length; from++) {
            uint64_t u;
            int64_t i;
            double d;
            read_uint64(text + from, length - from, &u);
            read_int64(text + from, length - from, &i);
            read_hex(text + from, length - from, &u);
            read_decimal(text + from, length - from, &d);
        }
    }
}

static void test_scan_blanks(void **state)
{
    struct scan s = scan_string(" \t \nx");
    scan_blanks(&s);
    assert_int_equal(*s.at, '\n');
    s = scan_string("  ");
    scan_blanks(&s);
    assert_true(scan_done(&s));
}

static void test_scan_skip_fields(void **state)
{
    struct scan s = scan_string("one two\tthree  four\nfive");
    const char *start = s.at;
    assert_true(scan_skip_fields(&s, 0));
    assert_ptr_equal(s.at, start);
    assert_true(scan_skip_fields(&s, 2));
    assert_true(scan_word(&s, "\tthree"));
    const char *before = s.at;
    assert_false(scan_skip_fields(&s, 2)); /* never into the next line */
    assert_ptr_equal(s.at, before);
    assert_true(scan_skip_fields(&s, 1));
    assert_int_equal(*s.at, '\n');
    assert_false(scan_skip_fields(&s, 1));
}

static void test_scan_word(void **state)
{
    struct scan s = scan_string("Pss_Dirty:");
    assert_false(scan_word(&s, "Pss:"));
    assert_true(scan_word(&s, "Pss"));
    assert_false(scan_word(&s, "_Dirty: and more"));
    assert_true(scan_word(&s, "_Dirty:"));
    assert_true(scan_done(&s));
    assert_true(scan_word(&s, ""));
    assert_false(scan_word(&s, "x"));
}

static void expect_line(struct scan *s, const char *text)
{
    struct scan line;
    assert_true(scan_line(s, &line));
    assert_int_equal(line.end - line.at, strlen(text));
    assert_memory_equal(line.at, text, strlen(text));
}

static void test_scan_line(void **state)
{
    struct scan line;
    struct scan s = scan_string("one\n\ntwo");
    expect_line(&s, "one");
    expect_line(&s, "");
    expect_line(&s, "two");
    assert_false(scan_line(&s, &line));

    s = scan_string("one\n");
    expect_line(&s, "one");
    assert_false(scan_line(&s, &line));

    s = scan_string("");
    assert_false(scan_line(&s, &line));
}

static void test_scan_duration(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"0", 0},
        {"1", NS_PER_SECOND},
        {"1.5", 1500 * NS_PER_MS},
        {".5s", 500 * NS_PER_MS},
        {"1.5s", 1500 * NS_PER_MS},
        {"250ms", 250 * NS_PER_MS},
        {"100us", 100 * NS_PER_US},
        {"7ns", 7},
        {"0.4ns", 0},
        {"0.1", 100 * NS_PER_MS},
        {"1.000000001s", NS_PER_SECOND + 1},
        {"2m", 120 * NS_PER_SECOND},
        {"2min", 120 * NS_PER_SECOND},
        {"1h", 3600 * NS_PER_SECOND},
        {"1.25d", 108000 * NS_PER_SECOND},
        {"1000000000s", UINT64_C(1000000000) * NS_PER_SECOND},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        uint64_t ns = 77;
        assert_int_equal(scan_duration(good[i].text, &ns), 0);
        assert_int_equal(ns, good[i].ns);
    }

    static const char *const bad[] = {
        "",
        "s",
        "ms",
        "-1",
        "-1s",
        "1 s",
        "1s ",
        "1x",
        "1ss",
        "1msx",
        "1,5s",
        "1e3",
        "nan",
        "inf",
        "1000000001s",
        "99999d",
        ".",
        ".s",
        "0x10",
        "1.2.3",
        "1S",
        "10 0",
        "18446744073709551615",
        "18446744073709551616ns",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        uint64_t ns = 77;
        assert_int_equal(scan_duration(bad[i], &ns), -EINVAL);
        assert_int_equal(ns, 77);
    }
}

/* Compared with what the C library makes of it. */
static void test_scan_number(void **state)
{
    static const char *const good[] = {
        "0",
        "-0",
        "1",
        "+1",
        "-1.5",
        ".5",
        "5.",
        "1e3",
        "1E-3",
        "1e+3",
        "0.1",
        "1e-323",
        "1e308",
        "1.7976931348623157e308",
        "1e-400",
        "0e99999",
        "123456789012345678901234567890",
        "0.000000000000000000000000123",
        "2.2250738585072014e-308",
        "9007199254740993",
        "1e22",
        "3.141592653589793",
    };
    static const char *const bad[] = {"",      "-",   ".",   "e5",    "x",
                                      "- 1",   "nan", "inf", "1e309", "1e99999999999999999",
                                      "2e308", "--1"};
    double value;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct scan s = scan_string(good[i]);
        assert_true(scan_number(&s, &value));
        assert_true(scan_done(&s) || strstr(good[i], "e9999"));
        assert_true(value == strtod(good[i], NULL));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct scan s = scan_string(bad[i]);
        value = 77;
        bool read = scan_number(&s, &value);
        assert_true(!read || !scan_done(&s));
        assert_true(read || (value == 77 && s.at == bad[i]));
    }
    uint64_t seed = 3;
    for (int i = 0; i < 20000; i++) { /* what was written is what is read, moments above all */
        char text[64];
        double written = (double)next_random(&seed) / (i % 2 ? 0x1p64 : 0x1p33);
        snprintf(text, sizeof text, "%.*g", 15 + i % 3, written);
        struct scan s = scan_string(text);
        assert_true(scan_number(&s, &value) && value == strtod(text, NULL));
    }
    struct scan s = scan_string("2e x"); /* an e that is no exponent is left */
    assert_true(scan_number(&s, &value) && value == 2 && *s.at == 'e');
}

static void test_scan_utc(void **state)
{
    static const struct {
        const char *text;
        bool is_one;
        uint64_t ns;
    } cases[] = {
        {"1970-01-01T00:00:00.000Z", true, 0},
        {"1970-01-02T00:00:00.001Z", true, 86400 * NS_PER_SECOND + NS_PER_MS},
        {"2024-02-29T12:00:00.000Z", true, 1709208000 * NS_PER_SECOND},
        {"2024-11-07T17:20:00.123Z", true, 1731000000 * NS_PER_SECOND + 123 * NS_PER_MS},
        {"2026-13-01T00:00:00.000Z", false, 0},
        {"2026-01-01T24:00:00.000Z", false, 0},
        {"2026-01-01 00:00:00.000Z", false, 0},
        {"2026-01-01T00:00:00.000", false, 0},
        {"2026-01-01T00:00:00Z", false, 0},
        {"1969-12-31T23:59:59.999Z", false, 0},
        {"", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t ns = 7;
        struct scan s = scan_string(cases[i].text);
        assert_int_equal(scan_utc(&s, &ns), cases[i].is_one);
        assert_int_equal(scan_done(&s), cases[i].is_one || !*cases[i].text);
        assert_int_equal(ns, cases[i].is_one ? cases[i].ns : 7);
    }
}

/* ---- shell words ---------------------------------------------------------------------------- */

static void shell_words_check(const char *text, const char *const *words)
{
    char **got = NULL;
    const char *why;
    assert_int_equal(shell_words(text, &got, &why), 0);
    size_t i = 0;
    for (; words[i]; i++) {
        assert_non_null(got[i]);
        assert_string_equal(got[i], words[i]);
    }
    assert_null(got[i]);
    free(got);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_shell_words_words(void **state)
{
    shell_words_check("ls -l  -a\t.\n", WORDS("ls", "-l", "-a", "."));
    shell_words_check("", (const char *const[]){NULL});
    shell_words_check(" \t\n", (const char *const[]){NULL});
    shell_words_check("a", WORDS("a"));
    shell_words_check("bash -c 'sleep 1; echo \"x y\" $HOME'",
                      WORDS("bash", "-c", "sleep 1; echo \"x y\" $HOME"));
    shell_words_check("echo \"a b\"c'd e' ''", WORDS("echo", "a bcd e", ""));
    shell_words_check("a\\ b \"\\$x \\q \\\\ \\\"\" 'x\\'", WORDS("a b", "$x \\q \\ \"", "x\\"));
    shell_words_check("one\\\ntwo three", WORDS("onetwo", "three"));
    shell_words_check("a | b > c && d # e *",
                      WORDS("a", "|", "b", ">", "c", "&&", "d", "#", "e", "*"));
    shell_words_check("é 'ü'", WORDS("é", "ü"));
}

static void test_shell_words_bad(void **state)
{
    char **got = NULL;
    const char *why = NULL;
    assert_int_equal(shell_words("echo 'open", &got, &why), -EINVAL);
    assert_string_equal(why, "No closing quotation");
    assert_int_equal(shell_words("echo \"open\\\"", &got, &why), -EINVAL);
    assert_string_equal(why, "No closing quotation");
    assert_int_equal(shell_words("echo \\", &got, &why), -EINVAL);
    assert_string_equal(why, "No escaped character");
    assert_null(got);
}

/* Every word that is one byte long: as many as there can be. */
static void test_shell_words_many(void **state)
{
    char text[2001];
    char **got;
    const char *why;
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = i % 2 ? ' ' : 'x';
    text[sizeof text - 1] = '\0';
    assert_int_equal(shell_words(text, &got, &why), 0);
    for (size_t i = 0; i < 1000; i++)
        assert_string_equal(got[i], "x");
    assert_null(got[1000]);
    free(got);
}

/* ---- csv record ----------------------------------------------------------------------------- */

static struct csv_record record;

static int parse(const char *line)
{
    char *copy = exact_copy(line, strlen(line));
    int r = parse_csv_record(scan_text(copy, strlen(line)), &record);
    free(copy);
    return r;
}

static void csv_record_check(const char *line, size_t count, const char *const *cells)
{
    assert_int_equal(parse(line), 0);
    assert_int_equal(record.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(csv_record_cell(&record, i), cells[i]);
}

static void test_csv_record_cells(void **state)
{
    csv_record_check("812,load,0,1.5", 4, (const char *const[]){"812", "load", "0", "1.5"});
    csv_record_check("a,b\r", 2, (const char *const[]){"a", "b"});
    csv_record_check("", 1, (const char *const[]){""});
    csv_record_check(",", 2, (const char *const[]){"", ""});
    csv_record_check("\"a,\"\"b\"\"\",c", 2, (const char *const[]){"a,\"b\"", "c"});
    csv_record_check("\"\",x", 2, (const char *const[]){"", "x"});
    csv_record_check("a\"b,c", 2, (const char *const[]){"a\"b", "c"});
    csv_record_check("\"two\nlines\",1", 2, (const char *const[]){"two\nlines", "1"});
}

static void test_csv_record_bad(void **state)
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

static void test_csv_record_written_is_read(void **state)
{
    static const char *const cells[] = {"plain", "a,b", "say \"x\"", "line\nbreak", "", "é"};
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
        buf_puts(&b, i ? "," : "");
        csv_record_write(&b, cells[i]);
    }
    csv_record_check(b.data, ARRAY_LEN(cells), cells);
    buf_done(&b);
}

static void test_csv_record_names_that_look_like_formulas(void **state)
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

static int clean_up(void **state)
{
    csv_record_done(&record);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_utc),
        cmocka_unit_test(test_scan_u64),
        cmocka_unit_test(test_scan_i64),
        cmocka_unit_test(test_scan_hex),
        cmocka_unit_test(test_scan_decimal),
        cmocka_unit_test(test_scan_cut_short),
        cmocka_unit_test(test_scan_blanks),
        cmocka_unit_test(test_scan_skip_fields),
        cmocka_unit_test(test_scan_word),
        cmocka_unit_test(test_scan_line),
        cmocka_unit_test(test_scan_duration),
        cmocka_unit_test(test_scan_number),
        cmocka_unit_test(test_shell_words_words),
        cmocka_unit_test(test_shell_words_bad),
        cmocka_unit_test(test_shell_words_many),
        cmocka_unit_test(test_csv_record_cells),
        cmocka_unit_test(test_csv_record_bad),
        cmocka_unit_test(test_csv_record_written_is_read),
        cmocka_unit_test(test_csv_record_names_that_look_like_formulas),
    };
    return cmocka_run_group_tests_name("base/scan", tests, NULL, clean_up);
}
