/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/frames.h"

#include "sink/spool.h"
#include "unit.h"

#include <math.h>

static void test_values_that_are_no_numbers(void **state)
{
    struct buf ops = {0};
    struct mlflow_metrics m = {.ops = &ops};
    mlflow_metrics_add(&m, "a", (double)NAN, 5, 1);
    mlflow_metrics_add(&m, "b", -(double)INFINITY, 6, 2);
    mlflow_metrics_add(&m, "c", 0.1, 7, 3);
    mlflow_metrics_end(&m);
    assert_non_null(strstr(
        ops.data, "{\"metrics\":[{\"key\":\"a\",\"value\":\"NaN\",\"timestamp\":5,\"step\":1},"
                  "{\"key\":\"b\",\"value\":\"-Infinity\",\"timestamp\":6,\"step\":2},"
                  "{\"key\":\"c\",\"value\":0.1,\"timestamp\":7,\"step\":3}]}\n"));
    buf_done(&ops);
}

static void test_a_thousand_at_most(void **state)
{
    struct buf ops = {0};
    struct mlflow_metrics m = {.ops = &ops};
    struct spool_op op;
    for (unsigned i = 0; i < 2001; i++)
        mlflow_metrics_add(&m, "key", i, 1, i);
    mlflow_metrics_end(&m);
    struct scan text = scan_text(ops.data, ops.length);
    unsigned requests = 0;
    while (spool_ops_next(&text, &op) > 0) {
        unsigned metrics = 0;
        for (const char *c = op.body.at; c < op.body.end; c++)
            metrics += *c == '}';
        assert_int_equal(metrics, (requests++ < 2 ? 1000 : 1) + 1);
    }
    assert_int_equal(requests, 3);
    buf_done(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_that_are_no_numbers),
        cmocka_unit_test(test_a_thousand_at_most),
    };
    return RUN("mlflow_metrics", tests);
}
