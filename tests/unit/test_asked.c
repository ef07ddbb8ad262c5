/* SPDX-License-Identifier: MIT */
#include "engine/settings.h"

#include "proc_tree.h"

#include "engine/target/targets.h"

static struct toll_tracker *make(void)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    return t;
}

/* The sentence that one target alone is refused with, "" when it is taken. */
static const char *refusal(enum toll_target_kind kind, pid_t id, const char *text)
{
    static struct toll_error e;
    e = (struct toll_error){0};
    struct toll_tracker *t = make();
    struct toll_target asked = {.size = sizeof asked, .kind = kind, .id = id, .text = text};
    int r = toll_tracker_add_target(t, &asked, &e);
    assert_true((r < 0) == (e.message[0] != '\0'));
    toll_tracker_free(t);
    return e.message;
}

static void test_what_is_taken(void **state)
{
    assert_string_equal(refusal(TOLL_TARGET_PROCESS, 1, NULL), "");
    assert_string_equal(refusal(TOLL_TARGET_PROCESS, 0, NULL), ""); /* this process */
    assert_string_equal(refusal(TOLL_TARGET_GROUP, 77, NULL), "");
    assert_string_equal(refusal(TOLL_TARGET_SESSION, 77, NULL), "");
    assert_string_equal(refusal(TOLL_TARGET_USER, 0, "root"), "");
    assert_string_equal(refusal(TOLL_TARGET_USER, 0, "65534"), "");
    assert_string_equal(refusal(TOLL_TARGET_USER, 0, "4294967294"), "");
    assert_string_equal(refusal(TOLL_TARGET_MATCH, 0, "a|b+"), "");
}

static void test_what_is_refused(void **state)
{
    assert_non_null(strstr(refusal(TOLL_TARGET_PROCESS, -1, NULL), "not the number of a process"));
    assert_non_null(strstr(refusal(TOLL_TARGET_GROUP, -5, NULL), "not the number of a group"));
    assert_non_null(strstr(refusal(TOLL_TARGET_USER, 0, "no such user"), "no user"));
    assert_non_null(strstr(refusal(TOLL_TARGET_USER, 0, "4294967295"), "no user"));
    assert_non_null(strstr(refusal(TOLL_TARGET_MATCH, 0, ""), "is empty"));
    assert_non_null(strstr(refusal(TOLL_TARGET_MATCH, 0, "a["), "regular expression"));
    assert_non_null(strstr(refusal(TOLL_TARGET_MATCH, 0, NULL), "neither"));
    assert_non_null(strstr(refusal((enum toll_target_kind)99, 1, "x"), "99"));
}

static void test_names(void **state)
{
    struct toll_tracker *t = make();
    struct toll_target asked[] = {
        {.size = sizeof *asked, .kind = TOLL_TARGET_PROCESS, .id = 12},
        {.size = sizeof *asked, .kind = TOLL_TARGET_GROUP, .id = 12},
        {.size = sizeof *asked, .kind = TOLL_TARGET_GROUP, .id = 13, .name = "web"},
        {.size = sizeof *asked, .kind = TOLL_TARGET_USER, .text = "root"},
    };
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        assert_int_equal(toll_tracker_add_target(t, &asked[i], NULL), 0);
    static const char *const names[] = {"process-12", "group-12", "web", "user-root"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_equal(t->targets[i].name, names[i]);
    struct toll_error e = {0};
    assert_int_equal(toll_tracker_add_target(t, &asked[1], &e), -EINVAL);
    assert_non_null(strstr(e.message, "'group-12' is named twice"));
    toll_tracker_free(t);
}

static void test_descriptions(void **state)
{
    struct toll_tracker *t = make();
    static char user[] = "u", match[] = "m";
    static const struct {
        struct target target;
        const char *words, *missing;
    } cases[] = {
        {{.kind = TOLL_TARGET_PROCESS, .id = 5}, "process 5 (?) and descendants", "no process 5"},
        {{.kind = TOLL_TARGET_GROUP, .id = 6}, "process group 6", "no process in group 6"},
        {{.kind = TOLL_TARGET_SESSION, .id = 7}, "session 7", "no process in session 7"},
        {{.kind = TOLL_TARGET_USER, .text = user}, "processes of user u", "of user 'u'"},
        {{.kind = TOLL_TARGET_MATCH, .text = match}, "match 'm' and descendants", "'m'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = {0};
        struct toll_error e = {0};
        asked_describe(t, &cases[i].target, &b);
        assert_non_null(strstr(b.data, cases[i].words));
        buf_done(&b);
        assert_int_equal(asked_nobody(t, &cases[i].target, &e), -ESRCH);
        assert_non_null(strstr(e.message, cases[i].missing));
    }
    toll_tracker_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_taken),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_descriptions),
    };
    return RUN("asked", tests);
}
