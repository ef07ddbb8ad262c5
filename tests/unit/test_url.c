/* SPDX-License-Identifier: MIT */
#include "base/io/url.h"

#include "unit.h"

static void expect(const char *text, const char *shown, unsigned port, const char *user)
{
    struct url u;
    struct buf b = {0};
    assert_true(url_split(text, &u));
    assert_int_equal(url_port(&u), port);
    assert_int_equal(u.user.end - u.user.at, strlen(user));
    assert_memory_equal(u.user.at, user, strlen(user));
    url_show(&b, text);
    assert_string_equal(b.data, shown);
    buf_done(&b);
}

static void test_good(void **state)
{
    expect("http://host", "http://host", 80, "");
    expect("https://host/", "https://host/", 443, "");
    expect("http://host:9090/api/v1/write", "http://host:9090/api/v1/write", 9090, "");
    expect("http://u:p@host/x?token=secret#frag", "http://host/x", 80, "u:p");
    expect("http://u:p@w@host:1/x", "http://host:1/x", 1, "u:p@w");
    expect("http://@host", "http://host", 80, "");
    expect("HTTPS://[::1]:8443/x", "HTTPS://[::1]:8443/x", 8443, "");
    expect("http://[fe80::1]?q", "http://[fe80::1]", 80, "");
    struct url u;
    assert_true(url_split("http://h/a/b?c=d#e", &u));
    assert_memory_equal(u.path.at, "/a/b", u.path.end - u.path.at);
    assert_memory_equal(u.query.at, "c=d", u.query.end - u.query.at);
}

static void test_parts(void **state)
{
    struct buf b = {0};
    url_encode(&b, "a b/c%:\xc3\xa4?#&=~", 14, "");
    assert_string_equal(b.data, "a%20b%2Fc%25%3A%C3%A4%3F%23%26%3D~");
    buf_clear(&b);
    url_encode(&b, "/a b%20/\0", 9, "/%");
    assert_string_equal(b.data, "/a%20b%20/%00");
    buf_done(&b);
}

static void test_bad(void **state)
{
    static const char *const bad[] = {
        "",
        "http",
        "http:",
        "http:/",
        "http://",
        "http:///x",
        "ftp://x",
        "http://:80",
        "http://h:",
        "http://h:0",
        "http://h:x",
        "http://h:65536",
        "http://h:1x",
        "http://[::1",
        "http://[::1]x",
        "http://h h",
        "http://h/\n",
        "host:9090",
        "http://h/\xff",
        "http://u:p@",
        "file:///etc/passwd",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct url u;
        struct buf b = {0};
        assert_false(url_split(bad[i], &u));
        url_show(&b, bad[i]);
        assert_string_equal(b.data, "?"); /* nothing of it */
        buf_done(&b);
    }
}

static void expect_decoded(const char *text, const char *expected)
{
    struct buf b = {0};
    assert_int_equal(url_decode(&b, text, strlen(text)), expected != NULL);
    if (expected)
        assert_string_equal(b.data ? b.data : "", expected);
    buf_done(&b);
}

static void test_decode(void **state)
{
    expect_decoded("", "");
    expect_decoded("plain+", "plain+");
    expect_decoded("a%20b%2C%c3%A9", "a b,\xc3\xa9");
    expect_decoded("%", NULL);
    expect_decoded("x%2", NULL);
    expect_decoded("%zz", NULL);
    expect_decoded("%00", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_decode),
    };
    return RUN("url", tests);
}
