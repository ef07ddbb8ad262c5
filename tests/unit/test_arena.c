/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include "unit.h"

#include <stdalign.h>

static void test_zeroed_and_aligned(void **state)
{
    struct arena a = {0};
    for (size_t size = 0; size < 300; size++) {
        unsigned char *p = arena_take(&a, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xFF, size);
    }
    arena_done(&a);
}

static void test_chunks_do_not_overlap(void **state)
{
    struct arena a = {0};
    enum { CHUNKS = 2000 };
    static unsigned *chunks[CHUNKS];
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = arena_take(&a, 10 * sizeof(unsigned));
        for (unsigned k = 0; k < 10; k++)
            chunks[i][k] = i;
    }
    for (unsigned i = 0; i < CHUNKS; i++)
        for (unsigned k = 0; k < 10; k++)
            assert_int_equal(chunks[i][k], i);
    arena_done(&a);
}

static void test_empty_keeps_the_memory(void **state)
{
    struct arena a = {0};
    void *first[40];
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        first[i] = memset(arena_take(&a, 1000), 0xFF, 1000);
    arena_empty(&a);
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        unsigned char *again = arena_take(&a, 1000);
        assert_ptr_equal(again, first[i]);
        assert_int_equal(again[0] | again[999], 0);
    }
    arena_done(&a);
}

static void test_larger_than_a_block(void **state)
{
    struct arena a = {0};
    arena_take(&a, 16);
    unsigned char *big = arena_take(&a, 1 << 20);
    assert_non_null(big);
    big[(1 << 20) - 1] = 1;
    assert_non_null(arena_take(&a, 16));
    arena_empty(&a);
    assert_ptr_equal(arena_take(&a, 1 << 20), big);
    arena_done(&a);
}

static void test_impossible_sizes(void **state)
{
    struct arena a = {0};
    assert_null(arena_take(&a, SIZE_MAX));
    assert_null(arena_take(&a, SIZE_MAX - 8));
    assert_null(arena_take(&a, (size_t)PTRDIFF_MAX + 1));
    assert_non_null(arena_take(&a, 8));
    arena_done(&a);
}

static void test_done_and_empty_of_nothing(void **state)
{
    struct arena a = {0};
    arena_empty(&a);
    arena_done(&a);
    arena_done(&a);
    assert_non_null(arena_take(&a, 1));
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_and_aligned),
        cmocka_unit_test(test_chunks_do_not_overlap),
        cmocka_unit_test(test_empty_keeps_the_memory),
        cmocka_unit_test(test_larger_than_a_block),
        cmocka_unit_test(test_impossible_sizes),
        cmocka_unit_test(test_done_and_empty_of_nothing),
    };
    return RUN("arena", tests);
}
