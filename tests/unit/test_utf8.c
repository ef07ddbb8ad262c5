/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "unit.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_not_text),
        cmocka_unit_test(test_length),
    };
    return RUN("utf8", tests);
}
