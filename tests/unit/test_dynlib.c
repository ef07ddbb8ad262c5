/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include "unit.h"

#include <dlfcn.h>

struct functions {
    double (*cosine)(double);
    double (*missing)(double);
    double (*other_name)(double);
};

static const struct dynlib_symbol symbols[] = {
    {offsetof(struct functions, cosine), {"cos"}},
    {offsetof(struct functions, missing), {"no_such_function", "nor_this_one"}},
    {offsetof(struct functions, other_name), {"no_such_function", "fabs"}},
};

static void test_find(void **state)
{
    char why[128] = "";
    void *library = dynlib_open("libm.so.6", why, sizeof why);
    if (!library)
        skip(); /* another C library */
    struct functions f;
    memset(&f, UNTOUCHED, sizeof f);
    assert_int_equal(dynlib_find(library, symbols, 3, &f), 2);
    assert_true(f.cosine(0) == 1);
    assert_null(f.missing);
    assert_true(f.other_name(-2) == 2);
    dlclose(library);
}

static void test_apart(void **state)
{
    char why[128] = "";
    void *library = dynlib_open("libm.so.6", why, sizeof why);
    void *apart = dynlib_open_apart("libm.so.6", why, sizeof why);
    if (!library || !apart)
        skip();
    struct functions one, other;
    dynlib_find(library, symbols, 3, &one);
    dynlib_find(apart, symbols, 3, &other);
    assert_true(one.cosine != other.cosine);
    assert_true(other.cosine(0) == 1);
    dynlib_close(apart);
    dynlib_close(library);
    assert_null(dynlib_open_apart("libtoll-no-such-library.so.1", why, sizeof why));
}

static void test_not_there(void **state)
{
    char why[128] = "";
    assert_null(dynlib_open("libtoll-no-such-library.so.1", why, sizeof why));
    assert_non_null(strstr(why, "libtoll-no-such-library.so.1"));
    char small[8] = "";
    assert_null(dynlib_open("libtoll-no-such-library.so.1", small, sizeof small));
    assert_int_equal(strlen(small), sizeof small - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_not_there),
    };
    return RUN("dynlib", tests);
}
