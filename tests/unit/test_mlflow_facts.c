/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_facts.h"

#include "sample.h"

static char program[] = "/usr/bin/train", argument[] = "--key=hunter2", name[] = "train";
static char *command[] = {program, argument, NULL};

static void test_the_run(void **state)
{
    struct sample s;
    struct buf b = {0};
    sample_make(&s, NULL);
    struct run run = s.run;
    run.command = command;
    run.name = name;
    struct mlflow_facts f = {.node = "", .id = "0123"};
    mlflow_facts_create(&b, &f, &run);
    assert_int_equal(strncmp(b.data, "{\"run_name\":\"train\",\"start_time\":", 33), 0);
    assert_non_null(strstr(b.data, "{\"key\":\"mlflow.source.name\",\"value\":\"train\"}"));
    assert_non_null(strstr(b.data, "{\"key\":\"toll.id\",\"value\":\"0123\"}"));
    buf_clear(&b);
    mlflow_facts_begin(&b, &f, &run);
    assert_non_null(strstr(b.data, "\"toll.version\""));
    assert_null(strstr(b.data, "hunter2"));
    buf_clear(&b);
    f.with_command = true;
    mlflow_facts_begin(&b, &f, &run);
    assert_non_null(strstr(b.data, "\"/usr/bin/train --key=hunter2\""));
    buf_done(&b);
    sample_remove(&s);
}

static void expect_end(struct sample *s, struct toll_end end, const char *status, const char *tag)
{
    struct buf b = {0};
    struct mlflow_facts f = {.node = "", .id = "0", .with_artifact = true, .ends_run = true};
    struct run run = s->run;
    run.command = command;
    s->summary.run = &run;
    s->summary.whole.end = end;
    mlflow_facts_end(&b, &f, &s->summary, &s->selection);
    assert_false(buf_failed(&b));
    assert_non_null(strstr(b.data, status));
    assert_true(!tag || strstr(b.data, tag));
    assert_non_null(strstr(b.data, "artifact toll/summary.json "));
    assert_non_null(strstr(b.data, "\"key\":\"toll/run_seconds\""));
    assert_null(strstr(b.data, "hunter2"));
    buf_clear(&b);
    f.ends_run = f.with_artifact = false;
    mlflow_facts_end(&b, &f, &s->summary, &s->selection);
    assert_null(strstr(b.data, "status"));
    assert_null(strstr(b.data, "artifact "));
    buf_done(&b);
    s->summary.run = &s->run;
}

static void test_the_end(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    expect_end(&s, (struct toll_end){.ended = true}, "\"FINISHED\"",
               "{\"key\":\"toll.exit_code\",\"value\":\"0\"}");
    expect_end(&s, (struct toll_end){.ended = true, .status = 2}, "\"FAILED\"", "\"2\"");
    expect_end(&s, (struct toll_end){.ended = true, .signaled = true, .status = 9}, "\"KILLED\"",
               "{\"key\":\"toll.exit_signal\",\"value\":\"SIGKILL\"}");
    expect_end(&s, (struct toll_end){.ended = true, .timed_out = true, .status = 1}, "\"KILLED\"",
               "toll.timed_out");
    expect_end(&s, (struct toll_end){.ended = false}, "\"FINISHED\"", NULL);
    struct buf b = {0};
    mlflow_facts_nothing_ran(&b);
    assert_non_null(strstr(b.data, "{\"status\":\"FAILED\",\"end_time\":"));
    buf_done(&b);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_run),
        cmocka_unit_test(test_the_end),
    };
    return RUN("mlflow_facts", tests);
}
