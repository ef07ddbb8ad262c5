/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/frames.h"

#include "unit.h"

static void expect(const char *name, const char *key)
{
    struct buf b = {0};
    buf_puts(&b, "<");
    mlflow_key(&b, name);
    assert_false(buf_failed(&b));
    assert_string_equal(b.data + 1, key);
    buf_done(&b);
}

static void test_letters(void **state)
{
    expect("system/target_cpu_seconds", "system/target_cpu_seconds");
    expect("a b:c-d.e/F_1", "a b:c-d.e/F_1");
    expect("loss,%\n\xc3\xa4", "loss_____");
    expect("a//b/", "a/b");
    expect("/a", "a");
    expect("a/./b/../c", "a/_/b/__/c");
    expect("1..2", "1__2");
    expect("...", "___");
    expect("", "_");
    expect("///", "_");
}

static void test_parts(void **state)
{
    struct buf b = {0};
    mlflow_key_part(&b, "/home");
    mlflow_key_part(&b, "");
    mlflow_key_part(&b, "..");
    assert_string_equal(b.data, "_home___");
    buf_done(&b);
}

static void test_long_names_stay_apart(void **state)
{
    char name[400];
    struct buf a = {0}, b = {0};
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    mlflow_key(&a, name);
    name[398] = 'y';
    mlflow_key(&b, name);
    assert_int_equal(a.length, MLFLOW_KEY_BYTES);
    assert_int_equal(b.length, MLFLOW_KEY_BYTES);
    assert_string_not_equal(a.data, b.data);
    buf_clear(&a);
    for (size_t i = 0; i < sizeof name - 1; i += 2)
        name[i] = '/';
    mlflow_key(&a, name);
    assert_true(a.length <= MLFLOW_KEY_BYTES && !strstr(a.data, "//") && !strstr(a.data, "/-"));
    name[MLFLOW_KEY_BYTES] = '\0';
    memset(name, 'z', MLFLOW_KEY_BYTES);
    expect(name, name);
    buf_done(&a);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_long_names_stay_apart),
    };
    return RUN("mlflow_key", tests);
}
