/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/setup.h"

#include "mlflow_place.h"
#include "sink/mlflow/mlflow.h"

static void expect_told(const char *known, const char *place, const char *uri)
{
    struct sample s;
    char destination[2048];
    sample_make(&s, NULL);
    if (known)
        setenv("MLFLOW_TRACKING_URI", known, 1);
    snprintf(destination, sizeof destination, "mlflow:%s,run_id=ab", place);
    struct sink *sink = open_or_skip(&s, destination);
    const char *const *variables = sink->kind->environment(sink);
    assert_string_equal(variables[0], "MLFLOW_RUN_ID=ab");
    if (uri)
        assert_string_equal(variables[1] + strlen("MLFLOW_TRACKING_URI="), uri);
    assert_null(variables[uri ? 2 : 1]);
    sink_close(sink, false);
    unsetenv("MLFLOW_TRACKING_URI");
    sample_remove(&s);
}

/* The command is told of another server than the one it knows, and of no other. */
static void test_which_server_the_command_knows(void **state)
{
    expect_told(NULL, "http://h:5000", "http://h:5000");
    expect_told("http://h:5000", "http://h:5000", NULL);
    expect_told("http://h:5000//", "http://h:5000/", NULL);
    expect_told("http://me:secret@h:5000", "http://h:5000", NULL);
    expect_told("http://h:5000", "http://me:secret@h:5000", NULL);
    expect_told("http://h:50001", "http://h:5000", "http://h:5000");
    expect_told("http://h:5000/other", "http://h:5000", "http://h:5000");
    expect_told("http://h:5000", "http://h:5000/other", "http://h:5000/other");
    expect_told("file:///srv/mlruns", "http://u:p@h", "http://h");
}

static void test_a_long_url_is_told_whole(void **state)
{
    char url[1200];
    snprintf(url, sizeof url, "http://h/%01100d", 7);
    expect_told(NULL, url, url);
}

static void test_the_run(void **state)
{
    struct sample s;
    struct toll_error e;
    sample_make(&s, NULL);
    setenv("MLFLOW_RUN_ID", "of-the-job", 1);
    setenv("MLFLOW_EXPERIMENT_ID", "3", 1);
    struct sink *sink = open_or_skip(&s, "mlflow:http://h,experiment=x");
    struct mlflow_client *c = &mlflow_sink_desk(sink)->client;
    assert_string_equal(c->run.run_id, "of-the-job");
    assert_true(c->is_joined && !c->experiment);
    assert_int_equal(mlflow_setup_run(sink, c, false, &e), 0);
    assert_string_equal(c->run.run_id, "");
    assert_string_equal(c->experiment, "x");
    assert_false(c->is_joined);
    sink_close(sink, false);
    sink = open_or_skip(&s, "mlflow:http://h,run_id=said");
    c = &mlflow_sink_desk(sink)->client;
    assert_int_equal(mlflow_setup_run(sink, c, false, &e), 0);
    assert_string_equal(c->run.run_id, "said");
    sink_close(sink, false);
    unsetenv("MLFLOW_RUN_ID");
    sink = open_or_skip(&s, "mlflow:http://h");
    assert_string_equal(mlflow_sink_desk(sink)->client.run.experiment_id, "3");
    sink_close(sink, false);
    unsetenv("MLFLOW_EXPERIMENT_ID");
    sample_remove(&s);
}

static void test_the_node(void **state)
{
    struct sample s;
    char node[MLFLOW_ID_BYTES];
    sample_make(&s, NULL);
    struct sink *sink = open_or_skip(&s, "mlflow:http://h");
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "4", 1);
    mlflow_setup_node(sink, false, node);
    assert_string_equal(node, "");
    mlflow_setup_node(sink, true, node);
    assert_string_equal(node, "rank_3");
    setenv("MLFLOW_SYSTEM_METRICS_NODE_ID", "my node", 1);
    mlflow_setup_node(sink, false, node);
    assert_string_equal(node, "my node");
    forget_variables();
    sink_close(sink, false);
    sample_remove(&s);
}

int main(void)
{
    forget_variables();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_server_the_command_knows),
        cmocka_unit_test(test_a_long_url_is_told_whole),
        cmocka_unit_test(test_the_run),
        cmocka_unit_test(test_the_node),
    };
    return RUN("mlflow_setup", tests);
}
