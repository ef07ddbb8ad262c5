/* SPDX-License-Identifier: MIT */
#include "base/text/buf.h"

#include "unit.h"

#include <stdio.h>

static bool is_text(const char *text)
{
    return utf8_is_text(text, strlen(text));
}

static void test_text(void **state)
{
    assert_true(is_text(""));
    assert_true(is_text("plain ~"));
    assert_true(is_text("größe 日本 \xF0\x9F\x8E\x89"));
    assert_true(is_text("\xC2\xA0")); /* the first behind the second set of control characters */
}

static void test_not_text(void **state)
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

static void test_length(void **state)
{
    assert_int_equal(utf8_length((const unsigned char *)"ü", 2), 2);
    assert_int_equal(utf8_length((const unsigned char *)"ü", 1), 0);
    assert_int_equal(utf8_length((const unsigned char *)"日", 3), 3);
}

/* One question mark for each character or byte that a terminal would act upon. */
static void test_printable(void **state)
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

static void test_columns(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printable), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_text),      cmocka_unit_test(test_not_text),
        cmocka_unit_test(test_length),
    };
    return RUN("utf8", tests);
}
