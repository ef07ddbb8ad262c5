/* SPDX-License-Identifier: MIT */
#include "base/text/json.h"

#include "base/text/buf.h"
#include "unit.h"

#include <stdio.h>

/* Whether a text is JSON and nothing else. */
static bool is_good_n(const char *text, size_t length)
{
    struct json_in j = {0};
    char *copy = exact_copy(text, length);
    json_in_begin(&j, copy, length);
    json_in_skip(&j);
    bool good = json_in_end(&j);
    json_in_done(&j);
    free(copy);
    return good;
}

static bool is_good(const char *text)
{
    return is_good_n(text, strlen(text));
}

static void test_what_is_json(void **state)
{
    static const char *const good[] = {
        "{}",
        "[]",
        " { } ",
        "\t[\n1 , 2\r]",
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-1.5e+3",
        "1E9",
        "\"\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"",
        "\"é€😀\"",
        "{\"a\":{\"b\":[{},[],[[null]]]},\"c\":1}",
        "123456789012345678901234567890123456789012345678901234567890",
        "1e999999999999",
        "\"0123456789abcdef0123456789abcdef\"",
        "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}",
        "[{\"a\":1},{\"a\":1}]",
        "{\"\":1,\"a\":2,\"A\":3}",
    };
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{\"a\":1]",
        "[1}",
        "nul",
        "nulll",
        "True",
        "+1",
        "-",
        "01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "- 1",
        "0x1",
        "NaN",
        "Infinity",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u 123\"",
        "\"\\u0000\"",
        "\"\\ud83d\"",
        "\"\\ude00\"",
        "\"\\ud83d\\u0041\"",
        "\"a\nb\"",
        "\"a\tb\"",
        "\"12345678\x01\"",
        "\"\xff\"",
        "\"\xc3\"",
        "\"\xed\xa0\x80\"",
        "{} {}",
        "1 2",
        "'a'",
        "/**/1",
        "{\"a\":1,\"a\":1}",
        "{\"a\":1,\"b\":2,\"\\u0061\":3}",
        "{\"\":1,\"\":2}",
        "[{\"x\":{\"a\":1,\"b\":{\"a\":1},\"a\":2}}]",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!is_good(good[i]))
            fail_msg("not taken: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (is_good(bad[i]))
            fail_msg("taken: %s", bad[i]);
    assert_false(is_good_n("\"a\0b\"", 5));
    assert_false(is_good_n("1\0", 2));
}

static void test_depth(void **state)
{
    char text[2 * JSON_DEPTH + 3] = {0};
    memset(text, '[', JSON_DEPTH);
    memset(text + JSON_DEPTH, ']', JSON_DEPTH);
    assert_true(is_good(text));
    memset(text, '[', JSON_DEPTH + 1);
    memset(text + JSON_DEPTH + 1, ']', JSON_DEPTH + 1);
    assert_false(is_good(text));
}

/* The one that an object has twice is found wherever it is, also by the fast way. */
static void test_names_of_a_large_object(void **state)
{
    enum { NAMES = 1000 };
    for (unsigned again = 0; again <= NAMES; again += 250) {
        struct buf b = {0};
        for (unsigned i = 0; i < NAMES; i++)
            buf_printf(&b, "%s\"name_%u\":{}", i ? "," : "{", i);
        bool is_new = again == NAMES;
        buf_printf(&b, ",\"name_%u\":0}", again);
        assert_int_equal(is_good_n(b.data, b.length), is_new);
        buf_done(&b);
    }
    struct json_in j = {0};
    struct json_number n;
    static const char text[] = "{\"a\":1,\"b\":2,\"a\":3}";
    json_in_begin(&j, text, strlen(text));
    assert_true(json_in_object(&j));
    assert_true(json_in_expect(&j, "a") && json_in_number(&j, &n));
    assert_true(json_in_expect(&j, "b") && json_in_number(&j, &n));
    assert_false(json_in_expect(&j, "a"));
    assert_true(j.failed);
    json_in_done(&j);
}

/* Escapes are characters, not bytes. */
static void test_escapes_are_utf8(void **state)
{
    static const char text[] = "\"\\u0001\\u007f\\u0080\\u00e9\\u00ff\\u0100\\u07ff\\u0800\\uffff\\"
                               "ud800\\udc00\\udbff\\udfff\"";
    static const char meant[] =
        "\x01\x7f\xc2\x80\xc3\xa9\xc3\xbf\xc4\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"
        "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
    struct json_in j = {0};
    struct scan string;
    json_in_begin(&j, text, strlen(text));
    assert_true(json_in_string(&j, &string));
    assert_int_equal(string.end - string.at, strlen(meant));
    assert_memory_equal(string.at, meant, strlen(meant));
    assert_true(json_in_end(&j));
    json_in_done(&j);
}

/* A text cut anywhere is no JSON. */
static void test_cut(void **state)
{
    static const char text[] = "{\"a\":[1,2.5e3,\"x\\u0041é\",true,null],\"b\":{}}";
    assert_true(is_good(text));
    for (size_t length = 0; length < strlen(text); length++)
        assert_false(is_good_n(text, length));
}

static void test_reading(void **state)
{
    static const char text[] =
        "{\"name\":\"a\\tb\",\"unknown\":{\"x\":[1,{}]},\"n\":-2.5,\"ok\":true,\"list\":[1,2,3],"
        "\"no\":null}";
    struct json_in j = {0};
    struct scan key, string;
    struct json_number n;
    double number = 0;
    uint64_t sum = 0;
    bool ok = false, null = false;
    json_in_begin(&j, text, strlen(text));
    assert_int_equal(json_in_next(&j), JSON_OBJECT);
    assert_true(json_in_object(&j));
    while (json_in_key(&j, &key)) {
        if (json_in_is(&key, "name")) {
            assert_true(json_in_string(&j, &string));
            assert_true(json_in_is(&string, "a\tb"));
        } else if (json_in_is(&key, "n")) {
            assert_true(json_in_number(&j, &n) && json_number_double(&n, &number));
        } else if (json_in_is(&key, "ok")) {
            assert_true(json_in_bool(&j, &ok));
        } else if (json_in_is(&key, "no")) {
            null = json_in_null(&j);
        } else if (json_in_is(&key, "list")) {
            for (json_in_array(&j); json_in_item(&j);) {
                uint64_t one;
                assert_true(json_in_number(&j, &n) && json_number_u64(&n, 0, &one));
                sum += one;
            }
        } else {
            assert_true(json_in_is(&key, "unknown"));
            json_in_skip(&j);
        }
    }
    assert_true(json_in_end(&j));
    assert_true(number == -2.5 && ok && null && sum == 6);
    json_in_done(&j);
}

/* The first thing that is not as expected makes all fail. */
static void test_failure_stays(void **state)
{
    struct json_in j = {0};
    struct scan key, string;
    static const char text[] = "{\"a\":1,\"b\":2}";
    json_in_begin(&j, text, strlen(text));
    json_in_object(&j);
    assert_true(json_in_key(&j, &key));
    assert_false(json_in_string(&j, &string));
    assert_false(json_in_key(&j, &key));
    assert_false(json_in_end(&j));
    json_in_done(&j);
}

static void test_expect(void **state)
{
    struct json_in j = {0};
    struct json_number n;
    struct scan key;
    static const char text[] = "{\"one\":1,\"two\":2, \"three\":3}";
    json_in_begin(&j, text, strlen(text));
    json_in_object(&j);
    assert_false(json_in_expect(&j, "on"));
    assert_false(json_in_expect(&j, "ones"));
    assert_true(json_in_expect(&j, "one") && json_in_number(&j, &n) && n.digits == 1);
    assert_false(json_in_expect(&j, "one"));
    assert_true(json_in_expect(&j, "two") && json_in_number(&j, &n) && n.digits == 2);
    assert_false(json_in_expect(&j, "three")); /* with a blank: the long way */
    assert_true(json_in_key(&j, &key) && json_in_is(&key, "three") && json_in_number(&j, &n));
    assert_false(json_in_expect(&j, "four"));
    assert_false(json_in_key(&j, &key));
    assert_true(json_in_end(&j));
    json_in_done(&j);
}

/* Whatever json_out writes of bytes, reading gives them again, but for those that are not UTF-8:
 * they are the character of the same number. */
static void test_any_bytes(void **state)
{
    uint64_t seed = 7;
    for (unsigned round = 0; round < 5000; round++) {
        char bytes[24];
        size_t length = random_below(&seed, sizeof bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)(1 + random_below(&seed, 255));
        struct buf b = {0}, meant = {0};
        for (size_t i = 0, taken; i < length; i += taken) {
            unsigned char c = (unsigned char)bytes[i];
            taken = c < 0x80 ? 1 : utf8_length((unsigned char *)bytes + i, length - i);
            const char character[] = {(char)(0xC0 | c >> 6), (char)(0x80 | (c & 0x3F))};
            buf_add(&meant, taken ? bytes + i : character, taken ? taken : 2);
            taken += !taken;
        }
        struct json_out out;
        json_begin(&out, &b, 0);
        json_string_n(&out, bytes, length);
        struct json_in j = {0};
        struct scan text;
        json_in_begin(&j, b.data, b.length);
        assert_true(json_in_string(&j, &text) && json_in_end(&j));
        assert_int_equal(text.end - text.at, meant.length);
        assert_memory_equal(text.at ? text.at : "", meant.data ? meant.data : "", meant.length);
        json_in_done(&j);
        buf_done(&meant);
        buf_done(&b);
    }
}

/* A key that has NUL bytes is not the word it begins with, however the word goes on in memory. */
static void test_is_with_nul_bytes(void **state)
{
    static const char text[] = {'n', 'o', 0, 0, 0}, word[] = {'n', 'o', 0, 0, 0, 0, 0};
    struct scan key = {text, text + sizeof text};
    assert_false(json_in_is(&key, word));
    key.end = text + 2;
    assert_true(json_in_is(&key, word));
    key.end = text + 1;
    assert_false(json_in_is(&key, word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_with_nul_bytes),
        cmocka_unit_test(test_what_is_json),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_failure_stays),
        cmocka_unit_test(test_expect),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_names_of_a_large_object),
        cmocka_unit_test(test_escapes_are_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
