/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include "unit.h"

#include <signal.h>

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(signal_name(SIGTERM), "TERM");
    assert_string_equal(signal_name(SIGKILL), "KILL");
    assert_null(signal_name(0));
    assert_null(signal_name(-1));
    assert_null(signal_name(SIGRTMIN));
    assert_null(signal_name(10000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
