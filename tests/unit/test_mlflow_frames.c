/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_frames.h"

#include "sample.h"

static void test_frames_and_gauges(void **state)
{
    struct sample s;
    struct mlflow_frames f = {0};
    struct toll_error e;
    struct buf ops = {0};
    sample_make(&s, "target_cpu_seconds,target_memory_rss_bytes");
    struct sink sink = {.selection = s.selection, .run = &s.run};
    assert_int_equal(mlflow_frames_init(&f, &sink, false, "system/", "node/1", &e), 0);
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    s.frame.tick = 7;
    s.frame.real_ns = UINT64_C(1700000000123999999);
    mlflow_frames_put(&f, &sink, &s.frame);
    struct piece pieces[3] = {{PIECE_FRAME, 1, sink.text.data, sink.text.length},
                              {PIECE_BEGIN, 0, "batch - 2\n{}\n", 13}};
    struct sink other = {.run = &s.run};
    struct told_mark mark = {.kind = MARK_GAUGE, .name = "loss", .value = 0.5};
    mlflow_frames_put_gauge(&f, &other, &mark);
    pieces[2] = (struct piece){PIECE_MARK, 0, other.text.data, other.text.length};
    struct batch b = {.pieces = pieces, .count = 3, .samples = 1};
    mlflow_frames_encode(&f, &b, &ops);
    assert_false(buf_failed(&ops));
    assert_non_null(strstr(ops.data, "{\"key\":\"system/node_1/target_cpu_seconds\",\"value\":1.5,"
                                     "\"timestamp\":1700000000123,\"step\":7}"));
    assert_non_null(strstr(ops.data, "]}\nbatch - 2\n{}\nbatch - "));
    assert_non_null(strstr(ops.data, "{\"key\":\"loss\",\"value\":0.5,\"timestamp\":"));
    buf_done(&ops);
    buf_done(&sink.text);
    buf_done(&other.text);
    mlflow_frames_done(&f);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_and_gauges),
    };
    return RUN("mlflow_frames", tests);
}
