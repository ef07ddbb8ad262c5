/* SPDX-License-Identifier: MIT */
#include "base/text/buf.h"
#include "unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

/* ---- buf ------------------------------------------------------------------------------------ */

/* The text is what is expected, terminated where it ends; then it is cleared. */
static void expect(struct buf *b, const char *text)
{
    assert_false(buf_failed(b));
    assert_string_equal(b->data, text);
    assert_int_equal(b->length, strlen(text));
    buf_clear(b);
}

static void test_buf_text(void **state)
{
    struct buf b = {0};
    buf_puts(&b, "one");
    buf_putc(&b, ' ');
    buf_add(&b, "two!", 3);
    buf_printf(&b, " %s %d", "three", 4);
    expect(&b, "one two three 4");
    buf_puts(&b, "");
    expect(&b, "");
    buf_done(&b);
    assert_null(b.data);
    buf_done(&b);
}

static void test_buf_growth(void **state)
{
    struct buf b = {0};
    for (unsigned i = 0; i < 10000; i++)
        buf_printf(&b, "%04u", i % 10000);
    assert_int_equal(b.length, 40000);
    for (unsigned i = 0; i < 10000; i += 7) {
        char number[5];
        snprintf(number, sizeof number, "%04u", i % 10000u);
        assert_memory_equal(b.data + 4 * i, number, 4);
    }
    assert_int_equal(b.data[b.length], '\0');
    buf_done(&b);
}

/* Every length around the first capacity: the zero behind the text always has its place. */
static void test_buf_terminated_at_every_length(void **state)
{
    for (size_t length = 0; length < 600; length++) {
        struct buf b = {0};
        for (size_t i = 0; i < length; i++)
            buf_putc(&b, 'x');
        buf_puts(&b, "");
        assert_int_equal(strlen(b.data), length);
        buf_printf(&b, "%s", "tail");
        assert_int_equal(strlen(b.data), length + 4);
        buf_done(&b);
    }
}

static void test_buf_clear_leaves_an_empty_text(void **state)
{
    struct buf b = {0};
    buf_clear(&b);
    buf_puts(&b, "old");
    buf_clear(&b);
    assert_string_equal(b.data, "");
    buf_done(&b);
}

static void test_buf_failure_is_remembered(void **state)
{
    struct buf b = {0};
    buf_puts(&b, "kept");
    b.failed = true;
    buf_puts(&b, "x");
    buf_u64(&b, 1);
    buf_seconds(&b, 1500);
    buf_double(&b, 1.5, 3);
    buf_utc(&b, 0);
    buf_pad(&b, 0, 20);
    buf_pad_left(&b, 0, 20);
    assert_true(buf_failed(&b));
    assert_string_equal(b.data, "kept");
    buf_clear(&b);
    assert_false(buf_failed(&b));
    buf_done(&b);

    struct buf never = {.failed = true};
    buf_double(&never, 1.5, 3);
    buf_seconds(&never, 1);
    buf_pad_left(&never, 0, 3);
    assert_null(never.data);
}

static void test_buf_u64(void **state)
{
    struct buf b = {0};
    buf_u64(&b, 0);
    expect(&b, "0");
    buf_u64(&b, UINT64_MAX);
    expect(&b, "18446744073709551615");
    buf_done(&b);
}

static void test_buf_fixed(void **state)
{
    static const struct {
        uint64_t value;
        unsigned decimals;
        const char *text;
    } cases[] = {
        {1234567, 6, "1.234567"},
        {1000000, 6, "1.000000"},
        {5, 6, "0.000005"},
        {0, 3, "0.000"},
        {42, 0, "42"},
        {UINT64_MAX, 9, "18446744073.709551615"},
        {UINT64_MAX, 19, "1.8446744073709551615"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_fixed(&b, cases[i].value, cases[i].decimals);
        expect(&b, cases[i].text);
    }
    buf_done(&b);
}

static void test_buf_seconds(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "0.000000001"},
        {1500000000, "1.5"},
        {1234567891, "1.234567891"},
        {10 * NS_PER_SECOND, "10"},
        {100 * NS_PER_SECOND + 100, "100.0000001"},
        {UINT64_MAX, "18446744073.709551615"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_seconds(&b, cases[i].ns);
        expect(&b, cases[i].text);
    }
    buf_done(&b);
}

static void test_buf_double(void **state)
{
    static const struct {
        double value;
        unsigned decimals;
        const char *cut, *fixed;
    } cases[] = {
        {0, 3, "0", "0.000"},
        {-0.0, 3, "0", "0.000"},
        {1.5, 3, "1.5", "1.500"},
        {-1.25, 2, "-1.25", "-1.25"},
        {100, 0, "100", "100"},
        {100, 2, "100", "100.00"},
        {0.9996, 3, "1", "1.000"},
        {0.0004, 3, "0", "0.000"},
        {-0.0004, 3, "0", "0.000"},
        {-0.0006, 3, "-0.001", "-0.001"},
        {1e12, 6, "1000000000000", "1000000000000.000000"},
        {NAN, 3, "null", "null"},
        {INFINITY, 3, "null", "null"},
        {-INFINITY, 0, "null", "null"},
        {1e300, 0, "null", "null"}, /* does not fit: rather nothing than nonsense */
    };
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_double(&b, cases[i].value, cases[i].decimals);
        expect(&b, cases[i].cut);
        buf_double_fixed(&b, cases[i].value, cases[i].decimals);
        expect(&b, cases[i].fixed);
    }
    /* Zeros of the text before it stay. */
    buf_puts(&b, "100");
    buf_double(&b, 0, 2);
    expect(&b, "1000");
    buf_done(&b);
}

static void test_buf_utc(void **state)
{
    struct buf b = {0};
    buf_utc(&b, 0);
    expect(&b, "1970-01-01T00:00:00.000Z");
    buf_utc(&b, UINT64_C(1794735000) * NS_PER_SECOND + 123999999);
    expect(&b, "2026-11-15T09:30:00.123Z");
    buf_utc(&b, UINT64_C(951782400) * NS_PER_SECOND);
    expect(&b, "2000-02-29T00:00:00.000Z");
    buf_utc(&b, UINT64_MAX);
    expect(&b, "2554-07-21T23:34:33.709Z");
    buf_done(&b);
}

static void test_buf_pad(void **state)
{
    struct buf b = {0};
    buf_puts(&b, "a|");
    buf_puts(&b, "bc");
    buf_pad(&b, 2, 4);
    buf_putc(&b, '|');
    expect(&b, "a|bc  |");
    buf_puts(&b, "wide");
    buf_pad(&b, 0, 3);
    expect(&b, "wide");
    buf_puts(&b, "h\xc3\xb6he"); /* five bytes, four columns */
    buf_pad(&b, 0, 6);
    expect(&b, "h\xc3\xb6he  ");
    buf_pad(&b, 0, 2);
    expect(&b, "  ");
    buf_done(&b);
}

static void test_buf_pad_left(void **state)
{
    struct buf b = {0};
    buf_pad_left(&b, 0, 3);
    expect(&b, "   ");
    buf_puts(&b, "a|12");
    buf_pad_left(&b, 2, 5);
    expect(&b, "a|   12");
    buf_puts(&b, "a|12");
    buf_pad_left(&b, 2, 2);
    expect(&b, "a|12");
    buf_puts(&b, "h\xc3\xb6he");
    buf_pad_left(&b, 0, 6);
    expect(&b, "  h\xc3\xb6he");
    buf_puts(&b, "x");
    buf_pad_left(&b, 0, 1000);
    assert_int_equal(b.length, 1000);
    assert_int_equal(strspn(b.data, " "), 999);
    buf_done(&b);
}

/* Makes a locale that writes 1,5 and sets it, with what every glibc has. */
static bool set_decimal_comma(void)
{
    char dir[] = "/tmp/test_buf.XXXXXX";
    if (!mkdtemp(dir))
        return false;
    char command[512];
    snprintf(command, sizeof command,
             "cd %s && printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
             "grouping 3;3\nEND LC_NUMERIC\n' >source && "
             "localedef -c --no-archive -i ./source -f ANSI_X3.4-1968 %s/comma "
             ">/dev/null 2>&1",
             dir, dir);
    int status = system(command); /* 1: it warns about the categories left out */
    setenv("LOCPATH", dir, 1);
    bool set = status != -1 && setlocale(LC_NUMERIC, "comma") != NULL;
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) == 0 && set;
}

/* A host program may have set a locale of its own. */
static void test_buf_decimal_comma(void **state)
{
    if (!set_decimal_comma()) {
        print_message("# no localedef here: the decimal comma is not tested\n");
        return;
    }
    char native[8];
    snprintf(native, sizeof native, "%.1f", 1.5);
    assert_string_equal(native, "1,5");

    struct buf b = {0};
    buf_double(&b, 1234.5, 3);
    buf_putc(&b, ' ');
    buf_double_fixed(&b, 1.5, 2);
    buf_putc(&b, ' ');
    buf_seconds(&b, 1500000000);
    buf_putc(&b, ' ');
    buf_fixed(&b, 1234567, 6);
    buf_putc(&b, ' ');
    buf_utc(&b, 0);
    buf_putc(&b, ' ');
    buf_number(&b, 0.1);
    expect(&b, "1234.5 1.50 1.5 1.234567 1970-01-01T00:00:00.000Z 0.1");
    buf_done(&b);
    setlocale(LC_ALL, "C");
}

static void test_buf_number(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {0.1, "0.1"},
        {-2.5, "-2.5"},
        {1e22, "1e+22"},
        {1e-12, "1e-12"},
        {123456789, "123456789"},
        {1.0 / 3, "0.3333333333333333"},
        {INFINITY, "null"},
        {NAN, "null"},
        {5e-324, "4.94065645841247e-324"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = {0};
        buf_puts(&b, "x");
        buf_number(&b, cases[i].value);
        assert_string_equal(b.data + 1, cases[i].text);
        buf_done(&b);
    }
    struct buf b = {0};
    buf_number_short(&b, 123456.789, 4);
    assert_string_equal(b.data, "1.235e+05");
    buf_done(&b);
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) { /* any bits that are a number come back */
        uint64_t bits = next_random(&seed);
        double value, again;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        struct buf text = {0};
        buf_number(&text, value);
        again = strtod(text.data, NULL);
        assert_true(again == value);
        buf_done(&text);
    }
}

/* ---- utf8 ----------------------------------------------------------------------------------- */

static bool is_text(const char *text)
{
    return utf8_is_text(text, strlen(text));
}

static void test_utf8_text(void **state)
{
    assert_true(is_text(""));
    assert_true(is_text("plain ~"));
    assert_true(is_text("größe 日本 \xF0\x9F\x8E\x89"));
    assert_true(is_text("\xC2\xA0")); /* the first behind the second set of control characters */
}

static void test_utf8_not_text(void **state)
{
    static const char *const texts[] = {
        "a\nb",         "\x1b[31m",
        "\x7f",         "\xC2\x85", /* control characters */
        "\xFF",         "a\x80",
        "\xC3",                             /* not UTF-8, or cut */
        "\xC0\xAF",     "\xE0\x80\xAF",     /* longer than need be */
        "\xED\xA0\x80", "\xF4\x90\x80\x80", /* no characters */
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(is_text(texts[i]));
    assert_false(utf8_is_text("a\0b", 3));
}

static void test_utf8_length(void **state)
{
    assert_int_equal(utf8_length((const unsigned char *)"ü", 2), 2);
    assert_int_equal(utf8_length((const unsigned char *)"ü", 1), 0);
    assert_int_equal(utf8_length((const unsigned char *)"日", 3), 3);
}

/* One question mark for each character or byte that a terminal would act upon. */
static void test_utf8_printable(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"größe 日本 \xF0\x9F\x8E\x89 \xC2\xA0", "größe 日本 \xF0\x9F\x8E\x89 \xC2\xA0"},
        {"a\x1b[31mb\x7f", "a?[31mb?"},
        {"a\nb\tc\r\n", "a b c  "},           /* blanks of another kind; ? would say unknown */
        {"\x80x\x9b", "?x?"},                 /* raw bytes of the second set */
        {"\xC2\x80\xC2\x9B\xC2\x9F", "???"},  /* … and as UTF-8 */
        {"\u202A\u202E\u2066\u2069", "????"}, /* writing direction */
        {"\u200E\u200F\u061C\u2028", "????"},
        {"\xFF\xC3(\xE2\x82", "?"
                              "?(?"
                              "?"}, /* not UTF-8 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        struct buf b = {0};
        snprintf(text, sizeof text, "%s", cases[i].text);
        text_make_printable(text);
        assert_string_equal(text, cases[i].shown);
        buf_printable(&b, cases[i].text, strlen(cases[i].text));
        buf_puts(&b, "");
        assert_string_equal(b.data ? b.data : "", cases[i].shown);
        buf_done(&b);
    }
}

static size_t columns(const char *text)
{
    return utf8_columns(text, strlen(text));
}

static void test_utf8_columns(void **state)
{
    assert_int_equal(columns(""), 0);
    assert_int_equal(columns("größe"), 5);
    assert_int_equal(columns("日本"), 4);
    assert_int_equal(columns("\xF0\x9F\x8E\x89"), 2); /* 🎉 */
    assert_int_equal(columns("e\u0301"), 1);          /* é as two characters */
    assert_int_equal(columns("\xFF\x1b\u202E"), 3);   /* as they are shown */
    assert_int_equal(utf8_fitting("日本", strlen("日本"), 3), 3);
    assert_int_equal(utf8_fitting("日本", strlen("日本"), 4), 6);
    assert_int_equal(utf8_fitting("abc", 3, 2), 2);
    assert_int_equal(utf8_fitting("e\u0301x", 4, 1), 3); /* the accent stays with its letter */
}

static void test_buf_bytes(void **state)
{
    static const struct {
        double bytes;
        const char *binary, *decimal, *plain;
    } cases[] = {
        {0, "0 B", "0 B", "0 B"},
        {999, "999 B", "999 B", "999 B"},
        {1000, "1000 B", "1.00 kB", "1000 B"},
        {1023.4, "1023 B", "1.02 kB", "1023 B"},
        {1572864, "1.50 MiB", "1.57 MB", "1572864 B"},
        {2e12, "1.82 TiB", "2.00 TB", "2000000000000 B"},
        {-5, "0 B", "0 B", "0 B"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf first = {0};
        const char *const expected[] = {cases[i].binary, cases[i].decimal, cases[i].plain};
        for (enum byte_units u = BYTES_BINARY; u <= BYTES_PLAIN; u++) {
            first.units = u;
            struct buf b = buf_like(&first);
            buf_bytes(&b, cases[i].bytes);
            assert_string_equal(b.data, expected[u]);
            buf_done(&b);
            assert_int_equal(b.units, u);
        }
    }
}

/* A record may have any number: what is written is nonsense then, but defined. */
static void test_numbers_beyond_64_bits(void **state)
{
    struct buf b = {.units = BYTES_PLAIN};
    buf_bytes(&b, 1e300);
    assert_string_equal(b.data, "18446744073709551615 B");
    buf_clear(&b);
    buf_duration(&b, 1e300);
    assert_string_equal(b.data, "768614336404564650d 15h");
    buf_clear(&b);
    buf_duration(&b, -1e300);
    assert_string_equal(b.data, "0 s");
    buf_done(&b);
}

static void test_buf_take(void **state)
{
    struct buf b = {0};
    CLEANUP_FREE char *nothing = buf_take(&b);
    assert_string_equal(nothing, "");
    buf_puts(&b, "text");
    CLEANUP_FREE char *text = buf_take(&b);
    assert_string_equal(text, "text");
    assert_true(!b.data && !b.length && !b.capacity);
    buf_puts(&b, "more");
    b.failed = true;
    assert_null(buf_take(&b));
    assert_true(!b.data && !buf_failed(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buf_bytes),
        cmocka_unit_test(test_numbers_beyond_64_bits),
        cmocka_unit_test(test_buf_take),
        cmocka_unit_test(test_buf_text),
        cmocka_unit_test(test_buf_growth),
        cmocka_unit_test(test_buf_terminated_at_every_length),
        cmocka_unit_test(test_buf_clear_leaves_an_empty_text),
        cmocka_unit_test(test_buf_failure_is_remembered),
        cmocka_unit_test(test_buf_u64),
        cmocka_unit_test(test_buf_fixed),
        cmocka_unit_test(test_buf_seconds),
        cmocka_unit_test(test_buf_double),
        cmocka_unit_test(test_buf_utc),
        cmocka_unit_test(test_buf_pad),
        cmocka_unit_test(test_buf_pad_left),
        cmocka_unit_test(test_buf_decimal_comma),
        cmocka_unit_test(test_buf_number),
        cmocka_unit_test(test_utf8_printable),
        cmocka_unit_test(test_utf8_columns),
        cmocka_unit_test(test_utf8_text),
        cmocka_unit_test(test_utf8_not_text),
        cmocka_unit_test(test_utf8_length),
    };
    return RUN("base/buf", tests);
}
