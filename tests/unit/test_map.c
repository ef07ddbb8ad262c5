/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include "unit.h"

static void test_empty(void **state)
{
    struct map m = {0};
    uint32_t value = 7;
    assert_false(map_get(&m, 1, &value));
    assert_int_equal(value, 7);
    map_remove(&m, 1);
    map_clear(&m);
    map_done(&m);
    map_done(&m);
}

static void test_put_get_replace(void **state)
{
    struct map m = {0};
    uint32_t value = 0;
    assert_int_equal(map_put(&m, 42, 1), 0);
    assert_int_equal(map_put(&m, 42, 2), 0);
    assert_int_equal(map_put(&m, UINT32_MAX, 0), 0);
    assert_int_equal(m.count, 2);
    assert_true(map_get(&m, 42, &value));
    assert_int_equal(value, 2);
    assert_true(map_get(&m, UINT32_MAX, &value));
    assert_int_equal(value, 0);
    assert_false(map_get(&m, 43, &value));
    map_clear(&m);
    assert_int_equal(m.count, 0);
    assert_false(map_get(&m, 42, &value));
    map_done(&m);
}

enum { KEYS = 3000 };

/* Where a plain array says what should be there; 0 = nothing. */
struct model {
    uint32_t values[KEYS + 1];
    uint32_t count;
};

static void check_all(const struct map *m, const struct model *model, uint32_t stride)
{
    assert_int_equal(m->count, model->count);
    for (uint32_t k = 1; k <= KEYS; k++) {
        uint32_t value = 0;
        assert_int_equal(map_get(m, k * stride, &value), model->values[k] != 0);
        assert_int_equal(value, model->values[k]);
    }
}

static uint32_t pick(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)random_below(seed, limit);
}

/* Grows, shrinks and wavers: each round prefers to put or to remove. */
static void run_random(uint32_t stride, uint64_t seed)
{
    struct map m = {0};
    struct model model = {0};
    for (uint32_t round = 0; round < 12; round++) {
        uint32_t removals = round % 3 == 2 ? 75 : round % 3 == 1 ? 50 : 20;
        uint32_t range = round % 2 ? KEYS : 100;
        for (uint32_t i = 0; i < 4000; i++) {
            uint32_t k = pick(&seed, range) + 1;
            if (pick(&seed, 100) < removals) {
                map_remove(&m, k * stride);
                model.count -= model.values[k] != 0;
                model.values[k] = 0;
            } else {
                assert_int_equal(map_put(&m, k * stride, i + 1), 0);
                model.count += model.values[k] == 0;
                model.values[k] = i + 1;
            }
        }
        check_all(&m, &model, stride);
    }
    for (uint32_t k = 1; k <= KEYS; k++)
        map_remove(&m, k * stride);
    assert_int_equal(m.count, 0);
    for (uint32_t i = 0; i < m.capacity; i++)
        assert_int_equal(m.slots[i].key, 0);
    map_done(&m);
}

static void test_random_runs(void **state)
{
    for (uint32_t seed = 1; seed <= 5; seed++)
        run_random(1, seed);
}

/* Keys with many low zeros, as pids given out in strides would be. */
static void test_random_strides(void **state)
{
    run_random(64, 1);
    run_random(4096, 2);
    run_random(1 << 20, 3);
}

/* Full to the limit, so that probing wraps round the end of the table. */
static void test_removal_in_a_crowded_table(void **state)
{
    for (uint32_t offset = 0; offset < 200; offset++) {
        struct map m = {0};
        for (uint32_t k = 1; k <= 48; k++)
            assert_int_equal(map_put(&m, offset * 1000 + k * 7, k), 0);
        assert_int_equal(m.capacity, 64);
        for (uint32_t gone = 1; gone <= 48; gone++) {
            map_remove(&m, offset * 1000 + gone * 7);
            for (uint32_t k = 1; k <= 48; k++) {
                uint32_t value = 0;
                assert_int_equal(map_get(&m, offset * 1000 + k * 7, &value), k > gone);
                assert_int_equal(value, k > gone ? k : 0);
            }
        }
        map_done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_put_get_replace),
        cmocka_unit_test(test_random_runs),
        cmocka_unit_test(test_random_strides),
        cmocka_unit_test(test_removal_in_a_crowded_table),
    };
    return RUN("map", tests);
}
