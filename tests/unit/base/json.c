/* SPDX-License-Identifier: MIT */
#include "base/text/json.h"
#include "base/text/buf.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* ---- json in -------------------------------------------------------------------------------- */

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

static void test_json_in_what_is_json(void **state)
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

static void test_json_in_depth(void **state)
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
static void test_json_in_names_of_a_large_object(void **state)
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
    struct decimal n;
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
static void test_json_in_escapes_are_utf8(void **state)
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
static void test_json_in_cut(void **state)
{
    static const char text[] = "{\"a\":[1,2.5e3,\"x\\u0041é\",true,null],\"b\":{}}";
    assert_true(is_good(text));
    for (size_t length = 0; length < strlen(text); length++)
        assert_false(is_good_n(text, length));
}

static void test_json_in_reading(void **state)
{
    static const char text[] =
        "{\"name\":\"a\\tb\",\"unknown\":{\"x\":[1,{}]},\"n\":-2.5,\"ok\":true,\"list\":[1,2,3],"
        "\"no\":null}";
    struct json_in j = {0};
    struct scan key, string;
    struct decimal n;
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
            assert_true(json_in_number(&j, &n) && decimal_double(&n, &number));
        } else if (json_in_is(&key, "ok")) {
            assert_true(json_in_bool(&j, &ok));
        } else if (json_in_is(&key, "no")) {
            null = json_in_null(&j);
        } else if (json_in_is(&key, "list")) {
            for (json_in_array(&j); json_in_item(&j);) {
                uint64_t one;
                assert_true(json_in_number(&j, &n) && decimal_u64(&n, 0, &one));
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
static void test_json_in_failure_stays(void **state)
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

static void test_json_in_expect(void **state)
{
    struct json_in j = {0};
    struct decimal n;
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
static void test_json_in_any_bytes(void **state)
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
static void test_json_in_is_with_nul_bytes(void **state)
{
    static const char text[] = {'n', 'o', 0, 0, 0}, word[] = {'n', 'o', 0, 0, 0, 0, 0};
    struct scan key = {text, text + sizeof text};
    assert_false(json_in_is(&key, word));
    key.end = text + 2;
    assert_true(json_in_is(&key, word));
    key.end = text + 1;
    assert_false(json_in_is(&key, word));
}

/* ---- json out ------------------------------------------------------------------------------- */

static void expect_json(const char *text, size_t length, const char *json)
{
    struct buf b = {0};
    struct json_out j;
    char *copy = exact_copy(text, length);
    json_begin(&j, &b, 0);
    json_string_n(&j, copy, length);
    assert_string_equal(b.data, json);
    free(copy);
    buf_done(&b);
}

static void test_json_out_escapes(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {"plain text", "\"plain text\""},
        {"say \"hi\"", "\"say \\\"hi\\\"\""},
        {"C:\\x/y", "\"C:\\\\x/y\""},
        {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_json(cases[i].text, strlen(cases[i].text), cases[i].json);
    expect_json("a\0b", 3, "\"a\\u0000b\"");
}

static void test_json_out_utf8(void **state)
{
    static const char *const good[] = {
        "\xc3\xa9",     "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xc2\xa0",
        "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        char json[16];
        snprintf(json, sizeof json, "\"%s\"", good[i]);
        expect_json(good[i], strlen(good[i]), json);
    }
}

/* The same text, which does nothing to a terminal that shows it. */
static void test_json_out_direction(void **state)
{
    expect_json("\xc2\x80\xc2\x9b\xc2\x9f", 6, "\"\\u0080\\u009b\\u009f\"");
    expect_json("a\u202Eb", 5, "\"a\\u202eb\"");
    expect_json("\u2069\u061C", 5, "\"\\u2069\\u061c\"");
}

/* Each byte that is not part of UTF-8 is taken as Latin-1. */
static void test_json_out_invalid_utf8(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"\xff", "\"\\u00ff\""},
        {"\x80", "\"\\u0080\""},
        {"\xc3", "\"\\u00c3\""},   /* cut short */
        {"\xc3(", "\"\\u00c3(\""}, /* no continuation */
        {"\xe2\x82", "\"\\u00e2\\u0082\""},
        {"\xf0\x9f\x98", "\"\\u00f0\\u009f\\u0098\""},
        {"\xc0\x80", "\"\\u00c0\\u0080\""}, /* longer than needed */
        {"\xe0\x80\x80", "\"\\u00e0\\u0080\\u0080\""},
        {"\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\""},            /* surrogate */
        {"\xf4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\""}, /* beyond Unicode */
        {"\xf8\x88\x80\x80\x80", "\"\\u00f8\\u0088\\u0080\\u0080\\u0080\""},
        {"\xc3\xc3\xa9", "\"\\u00c3\xc3\xa9\""}, /* finds its feet again */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_json(cases[i].text, strlen(cases[i].text), cases[i].json);
}

static void write_sample(struct json_out *j)
{
    json_object(j);
    json_key(j, "a");
    json_u64(j, 1);
    json_key(j, "list");
    json_array(j);
    json_i64(j, -2);
    json_array(j);
    json_array_end(j);
    json_object(j);
    json_object_end(j);
    json_object(j);
    json_key(j, "deep");
    json_null(j);
    json_object_end(j);
    json_bool(j, true);
    json_array_end(j);
    json_key(j, "z");
    json_string(j, "end");
    json_object_end(j);
}

static void test_json_out_one_line(void **state)
{
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    write_sample(&j);
    assert_string_equal(b.data, "{\"a\":1,\"list\":[-2,[],{},{\"deep\":null},true],\"z\":\"end\"}");
    buf_done(&b);
}

static void test_json_out_indent(void **state)
{
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 2);
    write_sample(&j);
    assert_string_equal(b.data, "{\n"
                                "  \"a\": 1,\n"
                                "  \"list\": [\n"
                                "    -2,\n"
                                "    [],\n"
                                "    {},\n"
                                "    {\n"
                                "      \"deep\": null\n"
                                "    },\n"
                                "    true\n"
                                "  ],\n"
                                "  \"z\": \"end\"\n"
                                "}");
    buf_done(&b);
}

static void test_json_out_empty_containers(void **state)
{
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 4);
    json_object(&j);
    json_object_end(&j);
    assert_string_equal(b.data, "{}");
    buf_clear(&b);
    json_begin(&j, &b, 0);
    json_array(&j);
    json_array_end(&j);
    assert_string_equal(b.data, "[]");
    buf_done(&b);
}

static void test_json_out_deep(void **state)
{
    enum { LEVELS = 500 };
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    for (int i = 0; i < LEVELS; i++)
        json_array(&j);
    for (int i = 0; i < LEVELS; i++)
        json_array_end(&j);
    assert_int_equal(b.length, 2 * LEVELS);
    assert_int_equal(strspn(b.data, "["), LEVELS);
    buf_done(&b);
}

static void test_json_out_numbers(void **state)
{
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    json_array(&j);
    json_u64(&j, UINT64_MAX);
    json_i64(&j, INT64_MIN);
    json_i64(&j, INT64_MAX);
    json_double(&j, 1.25, 6);
    json_double(&j, NAN, 6);
    json_double(&j, -INFINITY, 6);
    json_seconds(&j, 1500000000);
    json_utc(&j, 0);
    json_bool(&j, false);
    json_array_end(&j);
    assert_string_equal(b.data, "[18446744073709551615,-9223372036854775808,9223372036854775807,"
                                "1.25,null,null,1.5,\"1970-01-01T00:00:00.000Z\",false]");
    buf_done(&b);
}

static void test_json_out_key_is_escaped(void **state)
{
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    json_object(&j);
    json_key(&j, "a\"b");
    json_string(&j, "\n");
    json_object_end(&j);
    assert_string_equal(b.data, "{\"a\\\"b\":\"\\n\"}");
    buf_done(&b);
}

/* ---- json number ---------------------------------------------------------------------------- */

/* All of a text that holds a number. */
static struct decimal number_of(const char *text)
{
    struct scan s = scan_text(text, strlen(text));
    struct decimal n;
    assert_true(decimal_take_json(&s, &n) && scan_done(&s));
    return n;
}

static bool u64_of(const char *text, unsigned decimals, uint64_t *ret)
{
    struct decimal n = number_of(text);
    return decimal_u64(&n, decimals, ret);
}

static double double_of(const char *text)
{
    struct decimal n = number_of(text);
    double value;
    assert_true(decimal_double(&n, &value));
    return value;
}

static void test_json_number_what_is_no_number(void **state)
{
    static const char *const bad[] = {"",    "-",  "+1",  ".5", "1.", "01",
                                      "-01", "1e", "1e+", "e5", " 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct scan s = scan_text(bad[i], strlen(bad[i]));
        struct decimal n;
        assert_false(decimal_take_json(&s, &n));
    }
}

static void test_json_number_whole_numbers(void **state)
{
    static const struct {
        const char *text;
        unsigned decimals;
        uint64_t value;
    } good[] = {
        {"0", 9, 0},
        {"-0", 0, 0},
        {"1.5", 9, 1500000000},
        {"0.000000001", 9, 1},
        {"0.0000000014", 9, 1},
        {"0.0000000015", 9, 2},
        {"0.30000000000000004", 9, 300000000},
        {"1e-05", 9, 10000},
        {"2.5e3", 0, 2500},
        {"18446744073709551615", 0, UINT64_MAX},
        {"9223372036854775807", 0, UINT64_C(9223372036854775807)},
        {"1e-400", 9, 0},
        {"0e400", 9, 0},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t value;
        assert_true(u64_of(good[i].text, good[i].decimals, &value) && value == good[i].value);
    }
    uint64_t value = 0;
    assert_false(u64_of("-1", 0, &value));
    assert_false(u64_of("1e20", 0, &value));
    assert_false(u64_of("18446744073709551616", 0, &value));
    assert_false(u64_of("18446744074", 9, &value));
    assert_false(u64_of("1e400", 0, &value));
}

/* What buf_u64, buf_seconds and buf_double write is read as the same. */
static void test_json_number_what_is_written_is_read(void **state)
{
    struct buf b = {0};
    uint64_t seed = 1, value;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t number = random_magnitude(&seed, 64);
        buf_clear(&b);
        buf_u64(&b, number);
        assert_true(u64_of(b.data, 0, &value) && value == number);
        buf_clear(&b);
        buf_seconds(&b, number);
        assert_true(u64_of(b.data, 9, &value) && value == number);
        double small = (double)random_magnitude(&seed, 50) / 1e6;
        struct buf again = {0};
        buf_clear(&b);
        buf_double(&b, small, 6);
        buf_double(&again, double_of(b.data), 6);
        assert_string_equal(b.data, again.data);
        double any = (double)(next_random(&seed) >> 4) / (double)(random_magnitude(&seed, 60) + 1);
        buf_clear(&b);
        buf_clear(&again);
        buf_double(&b, any, 9);
        buf_double(&again, double_of(b.data), 9);
        assert_string_equal(b.data, again.data);
        assert_true(double_of(b.data) == buf_double_again(any, 9));
        buf_done(&again);
    }
    buf_done(&b);
}

static void test_decimal_doubles(void **state)
{
    assert_true(double_of("0.1") == 0.1);
    assert_true(double_of("-273.15") == -273.15);
    assert_true(double_of("1e22") == 1e22);
    assert_true(double_of("1.7976931348623157e308") == DBL_MAX);
    assert_true(double_of("1e-400") == 0);
    assert_true(double_of("0e999") == 0);
    struct decimal n = number_of("1e309");
    double value;
    assert_false(decimal_double(&n, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_in_is_with_nul_bytes),
        cmocka_unit_test(test_json_in_what_is_json),
        cmocka_unit_test(test_json_in_depth),
        cmocka_unit_test(test_json_in_cut),
        cmocka_unit_test(test_json_in_reading),
        cmocka_unit_test(test_json_in_failure_stays),
        cmocka_unit_test(test_json_in_expect),
        cmocka_unit_test(test_json_in_any_bytes),
        cmocka_unit_test(test_json_in_names_of_a_large_object),
        cmocka_unit_test(test_json_in_escapes_are_utf8),
        cmocka_unit_test(test_json_out_escapes),
        cmocka_unit_test(test_json_out_utf8),
        cmocka_unit_test(test_json_out_direction),
        cmocka_unit_test(test_json_out_invalid_utf8),
        cmocka_unit_test(test_json_out_one_line),
        cmocka_unit_test(test_json_out_indent),
        cmocka_unit_test(test_json_out_empty_containers),
        cmocka_unit_test(test_json_out_deep),
        cmocka_unit_test(test_json_out_numbers),
        cmocka_unit_test(test_json_out_key_is_escaped),
        cmocka_unit_test(test_json_number_what_is_no_number),
        cmocka_unit_test(test_json_number_whole_numbers),
        cmocka_unit_test(test_json_number_what_is_written_is_read),
        cmocka_unit_test(test_decimal_doubles),
    };
    return RUN("base/json", tests);
}
