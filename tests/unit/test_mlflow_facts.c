/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/facts.h"

#include "sample.h"
#include "sink/spool.h"

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
    assert_non_null(strstr(b.data, "{\"key\":\"toll.output_id\",\"value\":\"0123\"}"));
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

/* The program's name without the directories of somebody's home, and no longer than there is room.
 */
static void test_the_name(void **state)
{
    struct sample s;
    struct buf b = {0};
    char long_name[400];
    sample_make(&s, NULL);
    struct run run = s.run;
    run.command = command;
    run.name = NULL;
    struct mlflow_facts f = {.node = "", .id = "0123"};
    mlflow_facts_create(&b, &f, &run);
    assert_int_equal(strncmp(b.data, "{\"run_name\":\"train\",", 20), 0);
    assert_null(strstr(b.data, "/usr/bin"));
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    f.run_name = long_name;
    buf_clear(&b);
    mlflow_facts_create(&b, &f, &run);
    const char *tag = strstr(b.data, "runName");
    assert_int_equal(strspn(strstr(b.data, "nnn"), "n"), 250);
    assert_int_equal(strspn(strstr(tag, "nnn"), "n"), 250); /* they have to be the same */
    buf_done(&b);
    sample_remove(&s);
}

/* No request has more than a million bytes, whatever labels say. */
static void test_many_large_tags(void **state)
{
    enum { LABELS = 99, LENGTH = 5000 };
    struct sample s;
    struct buf b = {0};
    struct spool_op op;
    char *labels[LABELS + 1] = {0};
    unsigned requests = 0, tags = 0;
    sample_make(&s, NULL);
    struct run run = s.run;
    run.labels = labels;
    for (unsigned i = 0; i < LABELS; i++) {
        labels[i] = calloc(1, LENGTH + 10);
        int n = snprintf(labels[i], 10, "k%u=", i);
        memset(labels[i] + n, 1, LENGTH); /* six letters each in JSON */
    }
    mlflow_facts_begin(&b, &(struct mlflow_facts){.node = "", .id = "0"}, &run);
    for (struct scan text = scan_text(b.data, b.length); spool_ops_next(&text, &op) > 0;) {
        assert_true(op.body.end - op.body.at < 1000000 - 100);
        for (const char *c = op.body.at; (c = memmem(c, op.body.end - c, "\"key\":", 6)); c++)
            tags++;
        requests++;
    }
    assert_int_equal(tags, LABELS + 2);
    assert_int_equal(requests, 4);
    for (unsigned i = 0; i < LABELS; i++)
        free(labels[i]);
    buf_done(&b);
    sample_remove(&s);
}

/* Its blanks would end the name of an operation. */
static void test_a_node_with_a_blank(void **state)
{
    struct sample s;
    struct buf b = {0};
    struct spool_op op;
    unsigned artifacts = 0, updates = 0;
    sample_make(&s, NULL);
    struct mlflow_facts f = {
        .node = "my node:1/", .id = "0", .with_artifact = true, .ends_run = true};
    mlflow_facts_end(&b, &f, &s.summary, &s.selection);
    struct scan text = scan_text(b.data, b.length);
    int r;
    while ((r = spool_ops_next(&text, &op)) > 0) {
        artifacts += op.kind == SPOOL_ARTIFACT;
        updates += op.kind == SPOOL_UPDATE;
    }
    assert_int_equal(r, 0);
    assert_int_equal(artifacts, 1);
    assert_int_equal(updates, 1);
    assert_non_null(strstr(b.data, "artifact toll/my%20node%3A1/summary.json "));
    assert_non_null(strstr(b.data, "\"toll/my node:1/run_seconds\""));
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
        cmocka_unit_test(test_the_run),         cmocka_unit_test(test_the_name),
        cmocka_unit_test(test_many_large_tags), cmocka_unit_test(test_a_node_with_a_blank),
        cmocka_unit_test(test_the_end),
    };
    return RUN("mlflow_facts", tests);
}
