/* SPDX-License-Identifier: MIT */
#include "base/io/http.h"

#include "unit.h"

static void test_what_is_worth_a_retry(void **state)
{
    static const int yes[] = {408, 429, 500, 502, 503, 504, 599};
    static const int no[] = {200, 204, 301, 400, 401, 403, 404, 413, 422, 501};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_true(http_is_worth_a_retry(yes[i]));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        assert_false(http_is_worth_a_retry(no[i]));
}

static void expect(int status, const char *body, const char *sentence)
{
    char text[200];
    struct http_response r = {.status = status, .body = body, .length = strlen(body)};
    http_describe(&r, text, sizeof text);
    assert_string_equal(text, sentence);
}

static void test_sentences(void **state)
{
    expect(400, "out of order sample\nand more", "it answered 400: out of order sample");
    expect(500, "<html>\n<body>", "it answered 500");
    expect(204, "", "it answered 204");
    expect(400, "a\x1b[31mb", "it answered 400: a?[31mb");
    char small[12], body[HTTP_BODY_BYTES];
    memset(body, 'x', sizeof body);
    struct http_response r = {.status = 400, .body = body, .length = sizeof body};
    http_describe(&r, small, sizeof small);
    assert_string_equal(small, "it answered");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_worth_a_retry),
        cmocka_unit_test(test_sentences),
    };
    return RUN("http_words", tests);
}
