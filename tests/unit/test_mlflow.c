/* SPDX-License-Identifier: MIT
 * The sink, the client, the desk, what is asked early and what is sent later, against a server that
 * says the same to everything. What a real conversation looks like is in tests/live/test_mlflow.py.
 */
#include "mlflow_place.h"
#include "sink/mlflow/client.h"
#include "sink/mlflow/mlflow.h"
#include "sink/spooler.h"

static void test_a_run(void **state)
{
    struct sample s;
    struct http_server server;
    struct output_summary o;
    sample_make(&s, "target_cpu_seconds");
    server_start(&server);
    server_answer(&server, fine);
    struct sink *sink = open_at(&s, &server, ",experiment=x,grace=20s,artifact=no");
    assert_null(strstr(sink->name, "secret"));
    sink->run = &s.run;
    const char *const *variables = sink->kind->environment(sink);
    assert_non_null(variables);
    assert_string_equal(variables[0], "MLFLOW_RUN_ID=ab-1");
    assert_int_equal(strncmp(variables[1], "MLFLOW_TRACKING_URI=http://127.0.0.1:", 37), 0);
    assert_null(variables[2]);
    assert_int_equal(sink_begin(sink, &s.run), 0);
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_int_equal(sink_summary(sink, &s.summary), 0);
    sink_end(sink);
    assert_int_equal(sink_wait(sink, &o), 0);
    assert_int_equal(o.delivered, 1);
    assert_true(o.is_whole && !o.has_kept);
    assert_non_null(strstr(server.request, "POST /api/2.0/mlflow/runs/update HTTP/1.1\r\n"));
    assert_non_null(strstr(server.request, "{\"run_id\":\"ab-1\",\"status\":"));
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_kept_and_sent_later(void **state)
{
    struct sample s;
    struct http_server server;
    struct output_summary o;
    struct toll_sent sent = {0};
    struct toll_error e;
    char more[128], path[] = "/tmp/toll-unit-XXXXXX", to[64];
    close(mkstemp(path));
    unlink(path);
    sample_make(&s, "target_cpu_seconds");
    server_start(&server);
    server_answer(&server, ANSWER("401 No", "4", "nope"));
    snprintf(more, sizeof more, ",spool=%s", path);
    struct sink *sink = open_at(&s, &server, more);
    sink_begin(sink, &s.run);
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    sink_frame(sink, &s.frame);
    sink_summary(sink, &s.summary);
    sink_end(sink);
    assert_int_equal(sink_wait(sink, &o), 0);
    assert_int_equal(o.kept, 1);
    assert_true(o.is_whole && o.has_kept);
    assert_non_null(strstr(o.why, path));
    sink_close(sink, false);
    assert_int_equal(spool_send(path, NULL, &sent, &e), -EIO);
    assert_non_null(strstr(e.message, "stays as it is"));
    assert_int_equal(spool_send(path, "prometheus:http://h", &sent, &e), -EINVAL);
    server_answer(&server, fine);
    snprintf(to, sizeof to, "mlflow:http://127.0.0.1:%u", server.port);
    assert_int_equal(spool_send(path, to, &sent, &e), 0);
    assert_int_equal(sent.samples, 1);
    assert_string_equal(sent.run, "ab-1");
    assert_int_equal(access(path, F_OK), -1);
    server_stop(&server);
    sample_remove(&s);
}

static void test_nobody_waits_for_long(void **state)
{
    struct sample s;
    struct http_server server;
    char said[256];
    sample_make(&s, NULL);
    server_start(&server);
    server_answer(&server, NULL);
    struct sink *sink = open_at(&s, &server, ",wait=50ms,spool=none");
    sink->run = &s.run;
    assert_null(sink->kind->environment(sink));
    assert_true(mlflow_sink_desk(sink)->client.run.may_exist);
    assert_true(sink_says(sink, said, sizeof said));
    assert_non_null(strstr(said, "is not told MLFLOW_RUN_ID"));
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_ids(void **state)
{
    assert_true(mlflow_client_is_id("0123abc-DEF_"));
    assert_false(mlflow_client_is_id(""));
    assert_false(mlflow_client_is_id("a b"));
    assert_false(mlflow_client_is_id("a\"b"));
    assert_false(mlflow_client_is_id("0123456789012345678901234567890123456789"
                                     "0123456789012345678901234567890123456789"));
}

static void test_mistakes(void **state)
{
    static const char *const bad[][2] = {
        {"mlflow:", "MLFLOW_TRACKING_URI"},
        {"mlflow:mlruns", "'mlflow server'"},
        {"mlflow:http://u:hunter2@/", "none"},
        {"mlflow:http://h,run_id=\"", "run_id takes an ID"},
        {"mlflow:http://h,export=perhaps", "no|yes"},
    };
    struct sample s;
    sample_make(&s, NULL);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sink *sink = NULL;
        struct toll_error e = {0};
        struct toll_output out = {.size = sizeof out, .destination = bad[i][0]};
        int r = sink_open(&sink, &out, &s.selection, &e);
        if (r == -EOPNOTSUPP)
            continue;
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(e.message, bad[i][1]));
        assert_null(strstr(e.message, "hunter2"));
    }
    sample_remove(&s);
}

int main(void)
{
    forget_variables();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run),
        cmocka_unit_test(test_kept_and_sent_later),
        cmocka_unit_test(test_nobody_waits_for_long),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_mistakes),
    };
    return RUN("mlflow", tests);
}
