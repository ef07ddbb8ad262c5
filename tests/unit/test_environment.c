/* SPDX-License-Identifier: MIT */
#include "engine/tracker.h"

#include "unit.h"

static void test_variables_are_replaced(void **state)
{
    struct environment e = {0};
    setenv("TOLL_TEST_X", "outer", 1);
    setenv("TOLL_TEST_XY", "similar", 1);
    assert_int_equal(environment_add(&e, "TOLL_TEST_X=inner"), 0);
    assert_int_equal(environment_add(&e, "TOLL_TEST_Z=new"), 0);
    char **all = environment_make(&e);
    assert_non_null(all);
    unsigned x = 0, xy = 0, z = 0, path = 0;
    for (char **v = all; *v; v++) {
        x += strncmp(*v, "TOLL_TEST_X=", 12) == 0;
        xy += strcmp(*v, "TOLL_TEST_XY=similar") == 0;
        z += strcmp(*v, "TOLL_TEST_Z=new") == 0;
        path += strncmp(*v, "PATH=", 5) == 0;
        assert_string_not_equal(*v, "TOLL_TEST_X=outer");
    }
    assert_int_equal(x, 1);
    assert_int_equal(xy, 1);
    assert_int_equal(z, 1);
    assert_int_equal(path, getenv("PATH") != NULL);
    assert_string_equal(getenv("TOLL_TEST_X"), "outer"); /* ours is as it was */
    free(all);
    environment_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_are_replaced),
    };
    return RUN("environment", tests);
}
