/* SPDX-License-Identifier: MIT */
#include "base/text/json.h"

#include "base/text/buf.h"
#include "unit.h"

#include <float.h>

/* All of a text that holds a number. */
static struct json_number number_of(const char *text)
{
    struct scan s = scan_text(text, strlen(text));
    struct json_number n;
    assert_true(json_number_take(&s, &n) && scan_done(&s));
    return n;
}

static bool u64_of(const char *text, unsigned decimals, uint64_t *ret)
{
    struct json_number n = number_of(text);
    return json_number_u64(&n, decimals, ret);
}

static double double_of(const char *text)
{
    struct json_number n = number_of(text);
    double value;
    assert_true(json_number_double(&n, &value));
    return value;
}

static void test_what_is_no_number(void **state)
{
    static const char *const bad[] = {"",    "-",  "+1",  ".5", "1.", "01",
                                      "-01", "1e", "1e+", "e5", " 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct scan s = scan_text(bad[i], strlen(bad[i]));
        struct json_number n;
        assert_false(json_number_take(&s, &n));
    }
}

static void test_whole_numbers(void **state)
{
    static const struct {
        const char *text;
        unsigned decimals;
        uint64_t value;
    } good[] = {
        {"0", 9, 0},
        {"-0", 0, 0},
        {"1.5", 9, 1500000000},
        {"0.000000001", 9, 1},
        {"0.0000000014", 9, 1},
        {"0.0000000015", 9, 2},
        {"0.30000000000000004", 9, 300000000},
        {"1e-05", 9, 10000},
        {"2.5e3", 0, 2500},
        {"18446744073709551615", 0, UINT64_MAX},
        {"9223372036854775807", 0, UINT64_C(9223372036854775807)},
        {"1e-400", 9, 0},
        {"0e400", 9, 0},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t value;
        assert_true(u64_of(good[i].text, good[i].decimals, &value) && value == good[i].value);
    }
    uint64_t value = 0;
    assert_false(u64_of("-1", 0, &value));
    assert_false(u64_of("1e20", 0, &value));
    assert_false(u64_of("18446744073709551616", 0, &value));
    assert_false(u64_of("18446744074", 9, &value));
    assert_false(u64_of("1e400", 0, &value));
}

/* What buf_u64, buf_seconds and buf_double write is read as the same. */
static void test_what_is_written_is_read(void **state)
{
    struct buf b = {0};
    uint64_t seed = 1, value;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t number = random_magnitude(&seed, 64);
        buf_clear(&b);
        buf_u64(&b, number);
        assert_true(u64_of(b.data, 0, &value) && value == number);
        buf_clear(&b);
        buf_seconds(&b, number);
        assert_true(u64_of(b.data, 9, &value) && value == number);
        double small = (double)random_magnitude(&seed, 50) / 1e6;
        struct buf again = {0};
        buf_clear(&b);
        buf_double(&b, small, 6);
        buf_double(&again, double_of(b.data), 6);
        assert_string_equal(b.data, again.data);
        double any = (double)(next_random(&seed) >> 4) / (double)(random_magnitude(&seed, 60) + 1);
        buf_clear(&b);
        buf_clear(&again);
        buf_double(&b, any, 9);
        buf_double(&again, double_of(b.data), 9);
        assert_string_equal(b.data, again.data);
        assert_true(double_of(b.data) == buf_double_again(any, 9));
        buf_done(&again);
    }
    buf_done(&b);
}

static void test_doubles(void **state)
{
    assert_true(double_of("0.1") == 0.1);
    assert_true(double_of("-273.15") == -273.15);
    assert_true(double_of("1e22") == 1e22);
    assert_true(double_of("1.7976931348623157e308") == DBL_MAX);
    assert_true(double_of("1e-400") == 0);
    assert_true(double_of("0e999") == 0);
    struct json_number n = number_of("1e309");
    double value;
    assert_false(json_number_double(&n, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_number),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_doubles),
    };
    return RUN("json_number", tests);
}
