/* SPDX-License-Identifier: MIT */
#include "metric/mark.h"

#include "unit.h"

#include <stdio.h>

static int parse(const char *text, struct mark_text *ret)
{
    size_t length = strlen(text);
    char *copy = exact_copy(text, length);
    memset(ret, UNTOUCHED, sizeof *ret);
    int r = parse_mark_text(scan_text(copy, length), ret);
    assert_true(r == 0 || is_untouched(ret, sizeof *ret));
    free(copy);
    return r;
}

static void test_good(void **state)
{
    struct mark_text m;
    assert_int_equal(parse("phase begin load", &m), 0);
    assert_int_equal(m.kind, MARK_PHASE_BEGIN);
    assert_string_equal(m.name, "load");
    assert_true(m.pid == 0 && m.time_ns == 0 && m.lost == 0);
    assert_int_equal(parse("phase end load\n", &m), 0);
    assert_int_equal(m.kind, MARK_PHASE_END);
    assert_int_equal(parse("gauge loss -2.5e-1 @pid=77 @time=123456789012 @lost=4", &m), 0);
    assert_int_equal(m.kind, MARK_GAUGE);
    assert_true(m.value == -0.25 && m.pid == 77 && m.time_ns == 123456789012 && m.lost == 4);
    assert_int_equal(parse("event a%20name%25 @later=what", &m), 0);
    assert_string_equal(m.name, "a name%");
    assert_int_equal(parse("event @x", &m), 0); /* a name stands at its place */
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "event",
        "event ",
        "Event a",
        " event a",
        "event a ",
        "event a  k=v",
        "event a\n\n",
        "event a\tb",
        "event a b",
        "event a =v",
        "event a%2",
        "event a%zz",
        "event a% 1",
        "event a%00",
        "event a%0A",
        "event \xFF",
        "event a k=\x01",
        "phase begin",
        "phase start a",
        "phase end a k=v",
        "gauge a",
        "gauge a b",
        "gauge a 1 2",
        "gauge a nan",
        "gauge a inf",
        "gauge a 1e400",
        "gauge a 1x",
        "event a @pid=",
        "event a @pid=0",
        "event a @pid=-1",
        "event a @pid=2147483648",
        "event a @time=1x",
        "event a @time=99999999999999999999",
        "event a @lost=18446744073709551615",
    };
    struct mark_text m;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(parse(texts[i], &m), -EBADMSG);
}

static void test_names(void **state)
{
    char text[512], name[200];
    struct mark_text m;
    memset(name, 'x', sizeof name);
    name[MARK_NAME_BYTES] = '\0';
    assert_true(mark_text_is_name(name));
    snprintf(text, sizeof text, "event %s", name);
    assert_int_equal(parse(text, &m), 0);
    name[MARK_NAME_BYTES] = 'x';
    name[MARK_NAME_BYTES + 1] = '\0';
    assert_false(mark_text_is_name(name));
    snprintf(text, sizeof text, "event %s", name);
    assert_int_equal(parse(text, &m), -EBADMSG);
    assert_false(mark_text_is_name(""));
    assert_false(mark_text_is_name(NULL));
    assert_false(mark_text_is_name("a\nb"));
    assert_true(mark_text_is_name("größe 100 %"));
}

static void test_attributes(void **state)
{
    struct mark_text m;
    char text[64];
    const char *value;
    const char *mark = "event a @pid=1 who=a%20b%25 x= @time=5 y=1=2";
    assert_int_equal(parse_mark_text(scan_string(mark), &m), 0);
    static const char *const expected[][2] = {{"who", "a b%"}, {"x", ""}, {"y", "1=2"}};
    for (size_t i = 0; i < 3; i++) {
        assert_true(mark_text_attribute(&m.attributes, text, sizeof text, &value));
        assert_string_equal(text, expected[i][0]);
        assert_string_equal(value, expected[i][1]);
    }
    assert_false(mark_text_attribute(&m.attributes, text, sizeof text, &value));
    struct scan rest = scan_string("long=value");
    assert_true(mark_text_attribute(&rest, text, 7, &value));
    assert_string_equal(value, "v"); /* cut */
    rest = scan_string("a=1 ab=2 %61=3 b=4");
    static const char *const last[][2] = {{"ab", "2"}, {"a", "3"}, {"b", "4"}};
    for (size_t i = 0; i < 3; i++) {
        assert_true(mark_text_attribute(&rest, text, sizeof text, &value));
        assert_string_equal(text, last[i][0]);
        assert_string_equal(value, last[i][1]);
    }
    assert_true(mark_text_is_attribute("k=v") && mark_text_is_attribute("k="));
    assert_false(mark_text_is_attribute("=v") || mark_text_is_attribute("k"));
    assert_false(mark_text_is_attribute("@k=v"));
}

/* What is written is read as it was. */
static void test_there_and_back(void **state)
{
    static const double values[] = {0,
                                    -1,
                                    0.1,
                                    1e-300,
                                    5e-324,
                                    1.7976931348623157e308,
                                    1e22,
                                    123456789.123456789,
                                    2.2250738585072014e-308};
    struct mark_text m;
    char text[64];
    const char *value;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct buf b = {0};
        mark_text_begin(&b, MARK_GAUGE, "a %\xC3\xBC");
        mark_text_add_value(&b, values[i]);
        mark_text_add_number(&b, "time", UINT64_MAX);
        assert_int_equal(parse_mark_text(scan_text(b.data, b.length), &m), 0);
        assert_string_equal(m.name, "a %ü");
        assert_true(m.value == values[i] && m.time_ns == UINT64_MAX);
        buf_done(&b);
    }
    struct buf b = {0};
    mark_text_begin(&b, MARK_PHASE_BEGIN, "x");
    mark_text_add(&b, "key=a\nb %");
    assert_int_equal(parse_mark_text(scan_text(b.data, b.length), &m), 0);
    assert_true(mark_text_attribute(&m.attributes, text, sizeof text, &value));
    assert_string_equal(value, "a\nb %");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),           cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_there_and_back),
    };
    return RUN("mark_text", tests);
}
