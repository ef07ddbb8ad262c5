/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include "base/util.h"
#include "unit.h"

#include <string.h>

/* The example of RFC 9562, appendix A.6: 2022-02-22 19:22:22 UTC. */
static void test_the_example_of_the_standard(void **state)
{
    static const uint8_t random[UUID_RANDOM_BYTES] = {0x0C, 0xC3, 0x18, 0xC4, 0xDC,
                                                      0x0C, 0x0C, 0x07, 0x39, 0x8F};
    char id[UUID_BYTES];
    uuid_make(id, UINT64_C(0x017F22E279B0) * NS_PER_MS, random);
    assert_string_equal(id, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

/* Of the same moment, and yet no two alike; the later ones sort behind. */
static void test_no_two_alike(void **state)
{
    enum { MANY = 200 };
    char ids[MANY][UUID_BYTES], later[UUID_BYTES];
    uint64_t now_ns = UINT64_C(1731000000000000000);
    uuid_make(later, now_ns + NS_PER_MS, NULL);
    for (unsigned i = 0; i < MANY; i++) {
        uuid_make(ids[i], now_ns, NULL);
        assert_true(uuid_is(ids[i], strlen(ids[i])));
        assert_int_equal(ids[i][14], '7');
        assert_non_null(strchr("89ab", ids[i][19]));
        assert_true(strcmp(ids[i], later) < 0);
        for (unsigned other = 0; other < i; other++)
            assert_string_not_equal(ids[i], ids[other]);
    }
}

static void test_what_is_one(void **state)
{
    static const char good[] = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    assert_true(uuid_is(good, strlen(good)));
    assert_false(uuid_is(good, strlen(good) - 1));
    assert_false(uuid_is("", 0));
    assert_false(uuid_is("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", 36));
    assert_false(uuid_is("017f22e2079b0-7cc3-98c4-dc0c0c07398f", 36));
    assert_false(uuid_is("017f22e2-79b0-7cc3-98c4-dc0c0c07398/", 36));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_example_of_the_standard),
        cmocka_unit_test(test_no_two_alike),
        cmocka_unit_test(test_what_is_one),
    };
    return RUN("uuid", tests);
}
