/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include "unit.h"

static void test_set(void **state)
{
    struct toll_error e;
    assert_int_equal(err_set(&e, -EINVAL, "bad %s: %d", "number", 7), -EINVAL);
    assert_int_equal(e.code, -EINVAL);
    assert_string_equal(e.message, "bad number: 7");
}

static void test_wrap(void **state)
{
    struct toll_error e;
    err_set(&e, -ENOENT, "no such file");
    assert_int_equal(err_wrap(&e, -EINVAL, "cannot read %s", "x.conf"), -EINVAL);
    assert_int_equal(e.code, -EINVAL);
    assert_string_equal(e.message, "cannot read x.conf: no such file");
}

static void test_nobody_asks(void **state)
{
    assert_int_equal(err_set(NULL, -EACCES, "x"), -EACCES);
    assert_int_equal(err_wrap(NULL, -EACCES, "x"), -EACCES);
}

/* Whatever the lengths, the message is terminated inside its space. */
static void test_too_long(void **state)
{
    struct toll_error *e = malloc(sizeof *e);
    char text[2 * sizeof e->message];
    for (size_t length = 0; length < sizeof text; length++) {
        memset(text, 'x', length);
        text[length] = '\0';
        size_t kept = length < sizeof e->message ? length : sizeof e->message - 1;

        err_set(e, -EINVAL, "%s", text);
        assert_int_equal(strlen(e->message), kept);

        err_set(e, -EINVAL, "inner");
        err_wrap(e, -EINVAL, "%s", text);
        size_t wrapped = length + strlen(": inner");
        assert_int_equal(strlen(e->message),
                         wrapped < sizeof e->message ? wrapped : sizeof e->message - 1);

        err_set(e, -EINVAL, "%s", text);
        err_wrap(e, -EINVAL, "outer");
        assert_true(strlen(e->message) < sizeof e->message);
        assert_memory_equal(e->message, "outer: ", 7);
    }
    free(e);
}

/* What it quotes is from outside. */
static void test_harmless(void **state)
{
    struct toll_error e;
    err_set(&e, -EINVAL, "no '%s'", "\x1b[1m\u202Ehttp://u:pw@h\x9b");
    assert_string_equal(e.message, "no '?[1m?http://u:***@h?'");
    err_wrap(&e, -EINVAL, "TOKEN=%s", "x y\n");
    assert_string_equal(e.message, "TOKEN=*** y : no '?[1m?http://u:***@h?'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_harmless), cmocka_unit_test(test_set),
        cmocka_unit_test(test_wrap),     cmocka_unit_test(test_nobody_asks),
        cmocka_unit_test(test_too_long),
    };
    return RUN("err", tests);
}
