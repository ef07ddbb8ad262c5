/* SPDX-License-Identifier: MIT */
#include "summary/series.h"

#include "unit.h"

enum { MANY = 4000 };

/* Each has a store of its own. */
static struct histogram *fresh(void)
{
    struct histogram *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->store = malloc(sizeof *h->store);
    assert_non_null(h->store);
    assert_int_equal(octave_store_init(h->store, 1), 0);
    return h;
}

static void empty(struct histogram *h)
{
    struct octave_store *store = h->store;
    octave_store_done(store);
    assert_int_equal(octave_store_init(store, 1), 0);
    *h = (struct histogram){.store = store};
}

static void done(struct histogram *h)
{
    octave_store_done(h->store);
    free(h->store);
    free(h);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool within(uint64_t value, uint64_t truth)
{
    uint64_t off = value > truth ? value - truth : truth - value;
    return off <= truth / 64;
}

static void test_empty(void **state)
{
    struct histogram *h = fresh();
    uint64_t value = 7;
    assert_false(histogram_quantile(h, 0.5, &value));
    histogram_add(h, 5, 0); /* for no time */
    assert_false(histogram_quantile(h, 0.5, &value));
    assert_int_equal(value, 7);
    done(h);
}

/* Every value alone: also the largest, and both sides of every power of two. */
static void test_one_value(void **state)
{
    struct histogram *h = fresh();
    uint64_t seed = 1;
    for (unsigned i = 0; i < 64 * 8; i++) {
        uint64_t value = i < 64 * 3 ? (UINT64_C(1) << i % 64) - i / 64 + (i / 64 == 2) * 2
                                    : random_magnitude(&seed, 64);
        uint64_t told = 0;
        empty(h);
        histogram_add(h, value, 1);
        for (double share = 0; share <= 1; share += 0.25) {
            assert_true(histogram_quantile(h, share, &told));
            assert_true(within(told, value));
            if (value < 64)
                assert_true(told == value);
        }
    }
    done(h);
}

static void check_quantiles(const uint64_t *values, size_t count, const struct histogram *h)
{
    static uint64_t sorted[MANY];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    for (unsigned percent = 0; percent <= 100; percent++) {
        uint64_t told;
        double share = percent / 100.0;
        assert_true(histogram_quantile(h, share, &told));
        size_t rank = (size_t)(share * (double)count);
        uint64_t truth = sorted[rank ? rank - 1 : 0];
        assert_true(within(told, truth));
    }
}

static void test_error_bound(void **state)
{
    static uint64_t values[MANY];
    struct histogram *h = fresh();
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed;
        size_t count = 1 + random_below(&random, MANY);
        unsigned bits = 1 + (unsigned)random_below(&random, 64);
        empty(h);
        for (size_t i = 0; i < count; i++) {
            values[i] = seed % 2 ? random_magnitude(&random, bits)
                                 : next_random(&random) >> (64 - bits);
            histogram_add(h, values[i], 1);
        }
        check_quantiles(values, count, h);
    }
    done(h);
}

static void assert_same(const struct histogram *a, const struct histogram *b)
{
    for (unsigned percent = 0; percent <= 100; percent++) {
        uint64_t of_a, of_b;
        assert_true(histogram_quantile(a, percent / 100.0, &of_a));
        assert_true(histogram_quantile(b, percent / 100.0, &of_b));
        assert_true(of_a == of_b);
    }
}

/* A weight is so many values at once. */
static void test_weights(void **state)
{
    struct histogram *a = fresh(), *b = fresh();
    uint64_t seed = 3;
    for (int i = 0; i < 500; i++) {
        uint64_t value = random_magnitude(&seed, 50), weight = random_below(&seed, 20);
        histogram_add(a, value, weight);
        for (uint64_t n = 0; n < weight; n++)
            histogram_add(b, value, 1);
    }
    assert_same(a, b);
    done(a);
    done(b);
}

static void test_weights_decide(void **state)
{
    struct histogram *h = fresh();
    uint64_t told;
    histogram_add(h, 10, 99);
    histogram_add(h, 1000000, 1);
    assert_true(histogram_quantile(h, 0.99, &told) && told == 10);
    assert_true(histogram_quantile(h, 1, &told) && within(told, 1000000));
    done(h);
}

/* Weight that is held back counts like any other, whatever came in between. */
static void test_the_order_does_not_matter(void **state)
{
    static const uint64_t runs[] = {3, 3, 3, 70, 70, 3, 70, 3},
                          sorted[] = {3, 3, 3, 3, 3, 70, 70, 70};
    struct histogram *a = fresh(), *b = fresh();
    for (unsigned i = 0; i < ARRAY_LEN(runs); i++) {
        histogram_add(a, runs[i], 10);
        histogram_add(b, sorted[i], 10);
    }
    assert_same(a, b);
    done(a);
    done(b);
}

/* Octaves are taken in the order of need; two histograms with values everywhere fill the store. */
static void test_a_store_is_enough_for_all(void **state)
{
    struct octave_store store;
    assert_int_equal(octave_store_init(&store, 2), 0);
    struct histogram a = {.store = &store}, b = {.store = &store};
    uint64_t told;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            histogram_add(&a, UINT64_C(1) << bit, 1);
            histogram_add(&b, UINT64_MAX >> bit, 1);
        }
        assert_true(store.count <= 2 * HISTOGRAM_OCTAVES);
    }
    assert_true(store.count == 2 * HISTOGRAM_OCTAVES);
    assert_true(histogram_quantile(&a, 0, &told) && told == 1);
    assert_true(histogram_quantile(&b, 1, &told) && within(told, UINT64_MAX));
    octave_store_done(&store);
}

static void test_an_octave_without_values_takes_no_room(void **state)
{
    struct histogram *h = fresh();
    for (unsigned i = 0; i < 100; i++)
        histogram_add(h, 1000000, 1);
    assert_int_equal(h->store->count, 0); /* held back */
    histogram_add(h, 5, 1);
    assert_int_equal(h->store->count, 1);
    done(h);
}

/* Years of nanoseconds are more than a double can count one by one. */
static void test_long_runs(void **state)
{
    struct histogram *h = fresh();
    uint64_t told;
    for (uint64_t odd = 1; odd < 50; odd += 2) {
        empty(h);
        histogram_add(h, 20, UINT64_MAX / 2 - odd);
        assert_true(histogram_quantile(h, 1, &told) && told == 20);
        histogram_add(h, 21, (UINT64_C(1) << 53) + odd);
        assert_true(histogram_quantile(h, 1, &told) && told == 21);
        assert_true(histogram_quantile(h, 0.5, &told) && told == 20);
    }
    done(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_one_value),
        cmocka_unit_test(test_error_bound),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_weights_decide),
        cmocka_unit_test(test_the_order_does_not_matter),
        cmocka_unit_test(test_a_store_is_enough_for_all),
        cmocka_unit_test(test_an_octave_without_values_takes_no_room),
        cmocka_unit_test(test_long_runs),
    };
    return RUN("histogram", tests);
}
