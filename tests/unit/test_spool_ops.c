/* SPDX-License-Identifier: MIT */
#include "sink/spool.h"

#include "unit.h"

static bool is(struct scan s, const char *text)
{
    return (size_t)(s.end - s.at) == strlen(text) && memcmp(s.at, text, strlen(text)) == 0;
}

static void test_what_is_added_is_read(void **state)
{
    static const char body[] = "{\"a\":\n\"batch - 0\"}";
    struct buf b = {0};
    struct spool_op op;
    spool_ops_add(&b, SPOOL_HEAD, "mlflow", "", 0);
    spool_ops_add(&b, SPOOL_BATCH, "", body, sizeof body - 1);
    spool_ops_add(&b, SPOOL_SAMPLES, "12", "", 0);
    assert_int_equal(strncmp(b.data, "toll-spool mlflow 0\n\nbatch - 18\n{\"a\"", 36), 0);
    struct scan text = scan_text(b.data, b.length);
    assert_int_equal(spool_ops_next(&text, &op), 1);
    assert_true(op.kind == SPOOL_HEAD && is(op.name, "mlflow") && is(op.body, ""));
    assert_int_equal(spool_ops_next(&text, &op), 1);
    assert_true(op.kind == SPOOL_BATCH && is(op.name, "") && is(op.body, body));
    assert_int_equal(spool_ops_next(&text, &op), 1);
    assert_true(op.kind == SPOOL_SAMPLES && is(op.name, "12"));
    assert_int_equal(spool_ops_next(&text, &op), 0);
    for (size_t cut = 1; cut < b.length; cut++) { /* whole ones, then that it is cut */
        int r;
        text = scan_text(b.data, cut);
        while ((r = spool_ops_next(&text, &op)) > 0)
            ;
        assert_int_equal(r, text.at == text.end ? 0 : -EBADMSG);
    }
    buf_done(&b);
}

static void test_nonsense(void **state)
{
    static const char *const bad[] = {
        "\n",
        "batch\n",
        "batch - \n\n",
        "batch - x\n\n",
        "batch - 1\n\n",
        "batch -1 0 0",
        "batches - 0\n\n",
        "batch - 2\nab ",
        "batch  0\n\n",
        "batch - 18446744073709551615\n\n",
        "batch - 99999999999999999999\n\n",
    };
    struct spool_op op;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct scan text = scan_string(bad[i]);
        assert_int_equal(spool_ops_next(&text, &op), -EBADMSG);
        assert_ptr_equal(text.at, bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_added_is_read),
        cmocka_unit_test(test_nonsense),
    };
    return RUN("spool_ops", tests);
}
