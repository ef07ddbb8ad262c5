/* SPDX-License-Identifier: MIT */
#include "sink/otlp/otlp.h"

#include "unit.h"

static bool read_answer(const char *text, size_t length, uint64_t rejected, const char *message)
{
    struct otlp_answer a;
    bool is_whole = otlp_answer_read(text, length, &a);
    assert_int_equal(a.rejected, rejected);
    assert_int_equal(a.message.end - a.message.at, strlen(message));
    if (*message)
        assert_memory_equal(a.message.at, message, strlen(message));
    return is_whole;
}
#define READ(text, rejected, message) read_answer(text, sizeof text - 1, rejected, message)

static void test_all_was_taken(void **state)
{
    assert_true(READ("", 0, ""));
    assert_true(READ("\x0a\x00", 0, ""));
    assert_true(READ("\x0a\x03\x12\x01x", 0, "x")); /* a warning alone */
}

static void test_a_part_was_rejected(void **state)
{
    assert_true(READ("\x0a\x03\x08\xac\x02", 300, ""));
    assert_true(READ("\x0a\x07\x08\x07\x12\x03old", 7, "old"));
    assert_true(READ("\x0a\x07\x12\x03old\x08\x07", 7, "old")); /* in any order */
}

/* Fields of a later version: of each of the wire's types. */
static void test_what_is_not_known(void **state)
{
    assert_true(READ("\x18\x05\x0a\x02\x08\x02", 2, ""));
    assert_true(READ("\x0a\x13\x19"
                     "12345678"
                     "\x08\x02\x25"
                     "1234"
                     "\x1a\x01y",
                     2, ""));
    assert_true(READ("\x0a\x02\x12\x00", 0, ""));
}

static void test_damage(void **state)
{
    assert_false(READ("\x0a\x7f\x08\x01", 0, ""));
    assert_false(READ("\x0a\x01\x08", 0, ""));
    assert_false(READ("\x0a\x03\x08\x01\x12", 1, "")); /* cut behind the number */
    assert_false(READ("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0, ""));
    assert_false(READ("{}", 0, ""));
    assert_false(READ("<html>", 0, ""));
    /* A number below 0 means nothing. */
    assert_true(READ("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_was_taken),
        cmocka_unit_test(test_a_part_was_rejected),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test(test_damage),
    };
    return RUN("otlp_answer", tests);
}
