/* SPDX-License-Identifier: MIT */
#include "base/snappy.h"

#include "unit.h"

/* Reads a block of literals back. */
static size_t unwrap(const unsigned char *at, size_t length, char *ret)
{
    const unsigned char *end = at + length;
    size_t whole = 0, got = 0;
    for (unsigned shift = 0;; shift += 7) {
        whole |= (size_t)(*at & 0x7F) << shift;
        if (!(*at++ & 0x80))
            break;
    }
    while (at < end) {
        assert_int_equal(*at, 61 << 2);
        size_t part = (size_t)at[1] + ((size_t)at[2] << 8) + 1;
        memcpy(ret + got, at + 3, part);
        got += part;
        at += 3 + part;
    }
    assert_int_equal(got, whole);
    return got;
}

static void test_blocks(void **state)
{
    static const size_t sizes[] = {0, 1, 59, 60, 127, 128, 65535, 65536, 65537, 300000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct buf b = {0};
        char *data = malloc(sizes[i] + 1), *back = malloc(sizes[i] + 1);
        for (size_t k = 0; k < sizes[i]; k++)
            data[k] = (char)(k * 7 + i);
        snappy_wrap(&b, data, sizes[i]);
        assert_int_equal(unwrap((unsigned char *)b.data, b.length, back), sizes[i]);
        assert_memory_equal(data, back, sizes[i]);
        buf_done(&b);
        free(data);
        free(back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
    };
    return RUN("snappy", tests);
}
