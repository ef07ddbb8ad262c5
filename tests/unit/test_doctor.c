/* SPDX-License-Identifier: MIT */
#include "doctor_tree.h"

static void test_every_check_is_whole(void **state)
{
    struct toll_diagnosis *d;
    struct toll_error e = {0};
    size_t count = 0;
    assert_int_equal(toll_diagnosis_new(&d, NULL, &e), 0);
    for (const struct toll_check *c; (c = toll_diagnosis_at(d, count)); count++) {
        assert_non_null(c->name);
        assert_true(*c->name && strspn(c->name, "abcdefghijklmnopqrstuvwxyz-") == strlen(c->name));
        assert_true(*c->title);
        assert_true(*c->means);
        if (c->state == TOLL_CHECK_OK)
            assert_string_equal(c->remedy, "");
        if (c->state == TOLL_CHECK_PARTLY || c->state == TOLL_CHECK_MISSING) {
            assert_true(*c->detail);
            assert_true(*c->remedy);
        }
        if (c->state == TOLL_CHECK_MISSING || c->state == TOLL_CHECK_UNKNOWN)
            assert_string_equal(c->quality, "");
        assert_string_equal(toll_check_at(count)->name, c->name);
        assert_int_equal(toll_check_at(count)->essential, c->essential);
        assert_string_equal(toll_check_at(count)->remedy, "");
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(toll_diagnosis_at(d, i)->name, c->name);
    }
    assert_true(count > 15);
    assert_null(toll_check_at(count));
    assert_null(toll_diagnosis_at(d, SIZE_MAX));
    toll_diagnosis_free(d);
    toll_diagnosis_free(NULL);
}

/* It leaves nothing behind: no descriptor, no child. */
static void test_leaves_nothing(void **state)
{
    struct toll_diagnosis *d;
    unsigned fds = tree_open_fds();
    assert_int_equal(toll_diagnosis_new(&d, NULL, NULL), 0);
    toll_diagnosis_free(d);
    assert_int_equal(tree_open_fds(), fds);
}

static void test_empty_machine(void **state)
{
    struct patient p;
    struct toll_diagnosis *d;
    patient_make(&p, "", "");
    assert_int_equal(toll_diagnosis_new(&d, p.tree.path, NULL), 0);
    for (size_t i = 0; toll_diagnosis_at(d, i); i++) {
        const struct toll_check *c = toll_diagnosis_at(d, i);
        if (strcmp(c->name, "cpu") == 0 || strcmp(c->name, "limits") == 0)
            assert_int_equal(c->state, TOLL_CHECK_MISSING);
        if (strcmp(c->name, "formats") == 0)
            assert_int_equal(c->state, TOLL_CHECK_OK);
    }
    toll_diagnosis_free(d);
    patient_remove(&p);
}

static void test_no_machine(void **state)
{
    struct toll_diagnosis *d = NULL;
    struct toll_error e = {0};
    assert_int_equal(toll_diagnosis_new(&d, "/nonexistent", &e), -ENOENT);
    assert_non_null(strstr(e.message, "/nonexistent/proc"));
    assert_null(d);
}

static void test_findings(void **state)
{
    struct finding f = {0};
    finding_ok(&f, "exact", "file %d", 1);
    finding_detail(&f, "found %s", "much");
    finding_partly(&f, "half");
    finding_remedy(&f, "do it");
    assert_int_equal(f.state, TOLL_CHECK_PARTLY);
    assert_string_equal(f.quality, "exact");
    assert_string_equal(f.means.data, "file 1");
    assert_string_equal(f.detail.data, "half");
    assert_string_equal(f.remedy.data, "do it");
    finding_missing(&f, "none");
    assert_int_equal(f.state, TOLL_CHECK_MISSING);
    assert_string_equal(f.quality, "");
    finding_unknown(&f, "who knows");
    assert_int_equal(f.state, TOLL_CHECK_UNKNOWN);
    buf_done(&f.means);
    buf_done(&f.detail);
    buf_done(&f.remedy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_check_is_whole),
        cmocka_unit_test(test_leaves_nothing),
        cmocka_unit_test(test_empty_machine),
        cmocka_unit_test(test_no_machine),
        cmocka_unit_test(test_findings),
    };
    return RUN("doctor", tests);
}
