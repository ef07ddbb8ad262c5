/* SPDX-License-Identifier: MIT */
#include "base/text/json.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>

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

static void test_escapes(void **state)
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

static void test_utf8(void **state)
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
static void test_direction(void **state)
{
    expect_json("\xc2\x80\xc2\x9b\xc2\x9f", 6, "\"\\u0080\\u009b\\u009f\"");
    expect_json("a\u202Eb", 5, "\"a\\u202eb\"");
    expect_json("\u2069\u061C", 5, "\"\\u2069\\u061c\"");
}

/* Each byte that is not part of UTF-8 is taken as Latin-1. */
static void test_invalid_utf8(void **state)
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

static void test_one_line(void **state)
{
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    write_sample(&j);
    assert_string_equal(b.data, "{\"a\":1,\"list\":[-2,[],{},{\"deep\":null},true],\"z\":\"end\"}");
    buf_done(&b);
}

static void test_indent(void **state)
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

static void test_empty_containers(void **state)
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

static void test_deep(void **state)
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

static void test_numbers(void **state)
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

static void test_key_is_escaped(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),          cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_direction),        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_one_line),         cmocka_unit_test(test_indent),
        cmocka_unit_test(test_empty_containers), cmocka_unit_test(test_deep),
        cmocka_unit_test(test_numbers),          cmocka_unit_test(test_key_is_escaped),
    };
    return RUN("json_out", tests);
}
