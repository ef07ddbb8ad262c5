/* SPDX-License-Identifier: MIT */
#include "base/text/encoding.h"

#include "unit.h"

/* Reads a block back as any other implementation does: literals, and copies with two bytes of
 * distance, which may reach into what they write. */
static size_t uncompress(const unsigned char *at, size_t length, char *ret)
{
    const unsigned char *end = at + length;
    size_t whole = 0, got = 0;
    for (unsigned shift = 0;; shift += 7) {
        whole |= (size_t)(*at & 0x7F) << shift;
        if (!(*at++ & 0x80))
            break;
    }
    while (at < end) {
        size_t part = (size_t)(*at >> 2) + 1;
        assert_true((*at & 3) == 0 || (*at & 3) == 2);
        if ((*at++ & 3) == 2) {
            size_t distance = (size_t)at[0] + ((size_t)at[1] << 8);
            at += 2;
            assert_true(distance > 0 && distance <= got);
            for (size_t i = 0; i < part; i++, got++)
                ret[got] = ret[got - distance];
            continue;
        }
        if (part > 60) {
            unsigned bytes = (unsigned)part - 60;
            assert_true(bytes <= 2);
            part = (size_t)at[0] + (bytes == 2 ? (size_t)at[1] << 8 : 0) + 1;
            at += bytes;
        }
        memcpy(ret + got, at, part);
        got += part;
        at += part;
    }
    assert_int_equal(got, whole);
    return got;
}

/* Of that many bytes, the k-th. */
static char same(size_t k)
{
    return 'a';
}

static char periodic(size_t k)
{
    return (char)(k * 7);
}

static char random_bytes(size_t k)
{
    uint64_t x = (k + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 31;
    return (char)(x * UINT64_C(0xBF58476D1CE4E5B9) >> 56);
}

static char words(size_t k)
{
    static const char text[] = "__name__toll_target_cpu_seconds_total instance box run train ";
    return k % 97 < sizeof text - 1 ? text[k % 97] : random_bytes(k);
}

static void test_what_is_compressed_is_read_back(void **state)
{
    static const size_t sizes[] = {0,   1,   3,   4,     5,     59,    60,    61,
                                   127, 256, 257, 65535, 65536, 65537, 300000};
    char (*const kinds[])(size_t) = {same, periodic, random_bytes, words};
    for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++)
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            struct buf b = {0};
            char *data = malloc(sizes[i] + 1), *back = malloc(sizes[i] + 1);
            for (size_t k = 0; k < sizes[i]; k++)
                data[k] = kinds[kind](k);
            snappy_compress(&b, data, sizes[i]);
            assert_int_equal(uncompress((unsigned char *)b.data, b.length, back), sizes[i]);
            assert_memory_equal(data, back, sizes[i]);
            assert_true(b.length <= sizes[i] + sizes[i] / 100 + 10); /* never much larger … */
            if (sizes[i] >= 65536 && kinds[kind] != random_bytes)
                assert_true(b.length < sizes[i] / 2); /* … and mostly smaller */
            buf_done(&b);
            free(data);
            free(back);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_compressed_is_read_back),
    };
    return RUN("snappy", tests);
}
