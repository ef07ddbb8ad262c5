/* SPDX-License-Identifier: MIT */
#include "base/text/encoding.h"

#include "unit.h"

static void expect(struct buf *b, const char *bytes, size_t length)
{
    assert_false(buf_failed(b));
    assert_int_equal(b->length, length);
    assert_memory_equal(b->data, bytes, length);
    buf_clear(b);
}

static void test_fields(void **state)
{
    struct buf b = {0};
    protobuf_varint(&b, 1, 150);
    expect(&b, "\x08\x96\x01", 3);
    protobuf_varint(&b, 16, 0);
    expect(&b, "\x80\x01\x00", 3);
    protobuf_varint(&b, 1, UINT64_MAX);
    expect(&b, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    protobuf_string(&b, 2, "testing");
    expect(&b, "\x12\x07testing", 9);
    protobuf_double(&b, 1, 1.0);
    expect(&b, "\x09\0\0\0\0\0\0\xf0\x3f", 9);
    protobuf_fixed64(&b, 1, 1);
    expect(&b, "\x09\1\0\0\0\0\0\0\0", 9);
    buf_done(&b);
}

static void test_messages_within_messages(void **state)
{
    struct buf b = {0};
    size_t outer = protobuf_begin(&b, 3);
    size_t inner = protobuf_begin(&b, 1);
    protobuf_varint(&b, 1, 150);
    protobuf_end(&b, inner);
    protobuf_end(&b, outer);
    expect(&b, "\x1a\x05\x0a\x03\x08\x96\x01", 7);
    size_t empty = protobuf_begin(&b, 1);
    protobuf_end(&b, empty);
    expect(&b, "\x0a\x00", 2);
    size_t large = protobuf_begin(&b, 1); /* its length has two bytes */
    for (unsigned i = 0; i < 200; i++)
        buf_putc(&b, 'x');
    protobuf_end(&b, large);
    assert_int_equal(b.length, 203);
    assert_memory_equal(b.data, "\x0a\xc8\x01xxx", 6);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_messages_within_messages),
    };
    return RUN("protobuf", tests);
}
