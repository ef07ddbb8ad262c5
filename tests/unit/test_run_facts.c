/* SPDX-License-Identifier: MIT */
#include "summary/summary.h"

#include "unit.h"

static void test_command_names_the_run(void **state)
{
    static const struct {
        const char *word, *name;
    } cases[] = {{"make", "make"}, {"/usr/bin/make", "make"},
                 {"./a/b", "b"},   {"dir/", "dir/"},
                 {"/", "/"},       {"a b", "a b"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run r = {0};
        char *word = strdup(cases[i].word);
        char *argv[] = {word, word, NULL};
        assert_int_equal(run_set_command(&r, argv), 0);
        free(word); /* it was copied */
        assert_string_equal(r.name, cases[i].name);
        assert_string_equal(r.command[1], cases[i].word);
        assert_null(r.command[2]);
        run_done(&r);
    }
}

static void test_a_name_that_was_given_stays(void **state)
{
    struct run r = {.name = strdup("mine")};
    assert_int_equal(run_set_command(&r, (char *[]){strdupa("make"), NULL}), 0);
    assert_string_equal(r.name, "mine");
    assert_int_equal(run_set_command(&r, (char *[]){strdupa("other"), NULL}), 0);
    assert_string_equal(r.command[0], "other");
    run_done(&r);
    run_done(&r);
}

static void test_labels(void **state)
{
    struct run r = {0};
    assert_int_equal(run_set_labels(&r, (const char *const[]){"a=1", "b=", NULL}), 0);
    assert_string_equal(r.labels[0], "a=1");
    assert_string_equal(r.labels[1], "b=");
    assert_null(r.labels[2]);
    run_done(&r);
    assert_int_equal(
        run_set_labels(&r, (const char *const[]){"a=1", "ab=2", "a=3", "b=4", "a=", NULL}), 0);
    assert_string_equal(r.labels[0], "ab=2");
    assert_string_equal(r.labels[1], "b=4");
    assert_string_equal(r.labels[2], "a=");
    assert_null(r.labels[3]);
    assert_int_equal(run_set_labels(&r, (const char *const[]){NULL}), 0);
    assert_null(r.labels[0]);
    run_done(&r);
}

static struct run secret_run(bool shows, bool no_args)
{
    struct run r = {.shows_secrets = shows, .no_args = no_args};
    char *argv[] = {strdupa("/bin/x"), strdupa("--password"), strdupa("pw"), NULL};
    assert_int_equal(run_set_command(&r, argv), 0);
    assert_int_equal(run_set_labels(&r, (const char *const[]){"a=1", "api_key=k", NULL}), 0);
    assert_int_equal(run_add_target(&r, "t", "processes that match 'token=t'"), 0);
    assert_string_equal(r.name, "x");
    return r;
}

static void test_secrets(void **state)
{
    struct run r = secret_run(false, false);
    for (int again = 0; again < 2; again++) { /* what is masked stays as it is */
        assert_string_equal(r.command[1], "--password");
        assert_string_equal(r.command[2], "***");
        assert_string_equal(r.labels[0], "a=1");
        assert_string_equal(r.labels[1], "api_key=***");
        assert_string_equal(r.targets[0].what, "processes that match 'token=***'");
        assert_int_equal(run_mask_secrets(&r), 0);
    }
    run_done(&r);

    r = secret_run(true, false);
    assert_int_equal(run_mask_secrets(&r), 0);
    assert_string_equal(r.command[2], "pw");
    assert_string_equal(r.labels[1], "api_key=k");
    r.shows_secrets = false; /* as of a record */
    assert_int_equal(run_mask_secrets(&r), 0);
    assert_string_equal(r.command[2], "***");
    assert_string_equal(r.labels[1], "api_key=***");
    run_done(&r);

    r = secret_run(true, true);
    assert_string_equal(r.command[0], "/bin/x");
    assert_null(r.command[1]);
    run_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_command_names_the_run),
        cmocka_unit_test(test_a_name_that_was_given_stays),
        cmocka_unit_test(test_labels),
    };
    return RUN("run_facts", tests);
}
