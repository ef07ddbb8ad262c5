/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include "base/util.h"
#include "unit.h"

struct known {
    size_t size;
    int one, two;
};

/* As a later version may have it. */
struct newer {
    struct known known;
    int three;
};

static void test_take(void **state)
{
    struct known k, asked = {.size = sizeof asked, .one = 1, .two = 2};
    struct newer newer = {.known = {.size = sizeof newer, .one = 7}};
    struct toll_error e;
    assert_int_equal(sized_take(&k, sizeof k, NULL, "things", &e), 0);
    assert_true(!k.size && !k.one && !k.two);
    assert_int_equal(sized_take(&k, sizeof k, &asked, "things", &e), 0);
    assert_true(k.one == 1 && k.two == 2);
    asked.size = offsetof(struct known, two); /* an older program */
    assert_int_equal(sized_take(&k, sizeof k, &asked, "things", &e), 0);
    assert_true(k.one == 1 && k.two == 0);
    assert_int_equal(sized_take(&k, sizeof k, &newer, "things", &e), 0);
    assert_int_equal(k.one, 7);
    newer.three = 3;
    assert_int_equal(sized_take(&k, sizeof k, &newer, "things", &e), -E2BIG);
    assert_non_null(strstr(e.message, "something in the things"));
    asked.size = 0;
    assert_int_equal(sized_take(&k, sizeof k, &asked, "things", &e), -EINVAL);
    assert_non_null(strstr(e.message, "size of the things"));
    assert_int_equal(sized_check(&asked, "things", NULL), -EINVAL);
}

static void test_give(void **state)
{
    struct known full = {.size = 99, .one = 1, .two = 2}, ret = {.size = sizeof ret};
    sized_give(&ret, &full, sizeof full);
    assert_true(ret.size == sizeof ret && ret.one == 1 && ret.two == 2);
    ret = (struct known){.size = offsetof(struct known, two), .two = 5};
    sized_give(&ret, &full, sizeof full);
    assert_true(ret.one == 1 && ret.two == 5);
    struct newer newer = {.known = {.size = sizeof newer}, .three = 4};
    sized_give(&newer, &full, sizeof full);
    assert_true(newer.known.two == 2 && newer.three == 4);
    ret = (struct known){.size = sizeof(size_t), .one = 5};
    sized_give(&ret, &full, sizeof full);
    assert_int_equal(ret.one, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_give),
    };
    return RUN("sized", tests);
}
