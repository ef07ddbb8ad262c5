/* SPDX-License-Identifier: MIT */
#include "sink/points.h"

#include "unit.h"

#include <stdio.h>

static void test_names_and_values(void **state)
{
    struct labels l = {0};
    labels_add(&l, "b", "1");
    labels_add(&l, "a-b.c", "2");
    labels_add(&l, "b", "3"); /* taken */
    labels_add(&l, "b", "4"); /* … and so is what it would be called */
    labels_add(&l, "9", "x");
    labels_add(&l, "__name__", "evil");
    labels_add(&l, "\xc3\xbc", "u"); /* no letter of it is left */
    labels_add(&l, "_", "1");
    labels_add(&l, "A", "caf\xe9 \xc3\xa9");
    labels_add(&l, "empty", "");
    static const char *const expected[][2] = {
        {"A", "caf\xc3\xa9 \xc3\xa9"},
        {"_", "1"},
        {"_9", "x"},
        {"a_b_c", "2"},
        {"b", "1"},
        {"label__", "u"},
        {"label__name__", "evil"},
        {"label_b", "3"},
    };
    assert_int_equal(l.count, ARRAY_LEN(expected));
    for (size_t i = 0; i < l.count; i++) {
        assert_string_equal(l.items[i].name, expected[i][0]);
        assert_string_equal(l.items[i].value, expected[i][1]);
    }
    assert_true(labels_has(&l, "b", "1"));
    assert_false(labels_has(&l, "b", "3") || labels_has(&l, "c", "1"));
    assert_false(l.failed);
    for (unsigned i = 0; i < 2 * LABELS_AT_MOST; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%u", i);
        labels_add(&l, key, "x");
    }
    assert_int_equal(l.count, LABELS_AT_MOST);
    assert_true(l.failed);
    labels_done(&l);
}

static void test_of_a_run(void **state)
{
    struct labels l = {0};
    char name[] = "train", one[] = "team=blue", two[] = "run=mine", three[] = "scope=q",
         four[] = "gpu=a100", five[] = "system=old";
    char *labels[] = {one, two, three, four, five, NULL};
    struct run run = {.name = name, .host = "box", .labels = labels, .rank = "3"};
    labels_add_run(&l, &run, false);
    labels_add_users(&l, &run);
    static const char *const expected[][2] = {
        {"instance", "box"}, {"label_gpu", "a100"}, {"label_run", "mine"}, {"label_scope", "q"},
        {"rank", "3"},       {"run", "train"},      {"system", "old"},     {"team", "blue"},
    };
    assert_int_equal(l.count, ARRAY_LEN(expected));
    for (size_t i = 0; i < l.count; i++) {
        assert_string_equal(l.items[i].name, expected[i][0]);
        assert_string_equal(l.items[i].value, expected[i][1]);
    }
    labels_done(&l);
}

/* What tells this run from others: its own id, and what the batch system calls it. A label of the
 * user keeps its name where toll has none of that name, and is not there twice. */
static void test_identity(void **state)
{
    static const char id[] = "01930790-5c00-7000-8000-000000000000";
    char name[] = "train", one[] = "id=mine", two[] = "job_id=1234", three[] = "array_index=6";
    char *labels[] = {one, two, three, NULL};
    struct run run = {
        .name = name, .host = "box", .labels = labels, .job = {.id = "1234", .array_index = "5"}};
    snprintf(run.id, sizeof run.id, "%s", id);
    static const char *const with_id[][2] = {
        {"array_index", "5"},       {"id", id},           {"instance", "box"}, {"job_id", "1234"},
        {"label_array_index", "6"}, {"label_id", "mine"}, {"run", "train"},
    };
    static const char *const without[][2] = {
        {"array_index", "5"},       {"id", "mine"},   {"instance", "box"}, {"job_id", "1234"},
        {"label_array_index", "6"}, {"run", "train"},
    };
    for (int has_id = 0; has_id < 2; has_id++) {
        const char *const(*expected)[2] = has_id ? with_id : without;
        struct labels l = {0};
        labels_add_run(&l, &run, has_id);
        labels_add_users(&l, &run);
        assert_int_equal(l.count, has_id ? ARRAY_LEN(with_id) : ARRAY_LEN(without));
        for (size_t i = 0; i < l.count; i++) {
            assert_string_equal(l.items[i].name, expected[i][0]);
            assert_string_equal(l.items[i].value, expected[i][1]);
        }
        labels_done(&l);
    }
}

/* Those of the user are cut short. */
static void test_too_many(void **state)
{
    enum { MANY = 2 * LABELS_AT_MOST };
    static char texts[MANY][16];
    char *labels[MANY + 1] = {0};
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "a%u=x", i);
        labels[i] = texts[i];
    }
    struct labels l = {0};
    struct run run = {.host = "box", .labels = labels};
    labels_add_run(&l, &run, true);
    labels_add(&l, "scope", "disk");
    size_t own = l.count;
    labels_add_users(&l, &run);
    assert_int_equal(l.count, own + LABELS_OF_USER_AT_MOST);
    assert_false(l.failed);
    assert_string_equal(l.items[l.count - 1].name, "scope");
    labels_done(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_values),
        cmocka_unit_test(test_of_a_run),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_too_many),
    };
    return RUN("labels", tests);
}
