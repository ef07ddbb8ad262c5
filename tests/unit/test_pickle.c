/* SPDX-License-Identifier: MIT */
#include "base/pickle.h"

#include "unit.h"

#include <errno.h>

static void round_trip(const char *json, const char *expected)
{
    struct buf pickle = {0}, back = {0};
    assert_int_equal(pickle_from_json(&pickle, json, strlen(json)), 0);
    assert_true(pickle_is_one(pickle.data, pickle.length));
    assert_int_equal(pickle_to_json(&back, pickle.data, pickle.length), 0);
    assert_string_equal(back.data, expected);
    /* Cut anywhere it is none. */
    for (size_t cut = 0; cut < pickle.length; cut++) {
        char *part = exact_copy(pickle.data, cut);
        buf_clear(&back);
        assert_true(pickle_to_json(&back, part, cut) < 0);
        free(part);
    }
    buf_done(&pickle);
    buf_done(&back);
}

static void test_round_trip(void **state)
{
    round_trip("{}", "{}");
    round_trip(" [ ] ", "[]");
    round_trip("{\"a\": [1, 2.0, -3, 0.1, 1e300], \"b\": {\"c\": null}, \"d\": true}",
               "{\"a\":[1,2.0,-3,0.1,1e+300],\"b\":{\"c\":null},\"d\":true}");
    round_trip("[{}, [], \"\", false, \"\\u00e9\\n\"]", "[{},[],\"\",false,\"é\\n\"]");
    round_trip("9223372036854775807", "9223372036854775807");
}

/* What Python's pickle.dumps({"a": 1.5}, protocol=3) gives, without what it remembers. */
static void test_bytes(void **state)
{
    static const char expected[] = "\x80\x03}(X\x01\0\0\0aG\x3f\xf8\0\0\0\0\0\0u.";
    struct buf b = {0};
    assert_int_equal(pickle_from_json(&b, "{\"a\": 1.5}", 10), 0);
    assert_int_equal(b.length, sizeof expected - 1);
    assert_memory_equal(b.data, expected, b.length);
    buf_done(&b);
}

static void test_bad(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
    } bad[] = {
#define BAD(text) {text, sizeof text - 1}
        BAD("\x80\x03"
            "cos\nsystem\n."),           /* a program */
        BAD("\x80\x03}(N.u."),           /* a key that is no text */
        BAD("\x80\x03}(X\x01\0\0\0au."), /* a key without a value */
        BAD("\x80\x03](u."),             /* the wrong end */
        BAD("\x80\x03}."),
        BAD("\x80\x03NN."),
        BAD("\x80\x03X\xff\xff\xff\xff."),
    };
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        buf_clear(&b);
        char *copy = exact_copy(bad[i].bytes, bad[i].length);
        assert_int_equal(pickle_to_json(&b, copy, bad[i].length), -EOPNOTSUPP);
        free(copy);
    }
    assert_int_equal(pickle_to_json(&b, "{}", 2), -EBADMSG);
    assert_int_equal(pickle_from_json(&b, "{\"a\"", 4), -EBADMSG);
    char deep[200];
    memset(deep, '[', sizeof deep);
    assert_int_equal(pickle_from_json(&b, deep, sizeof deep), -EBADMSG);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bad),
    };
    return RUN("pickle", tests);
}
