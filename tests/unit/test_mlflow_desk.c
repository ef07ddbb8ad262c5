/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/mlflow.h"

#include "mlflow_place.h"

#include <sys/stat.h>

static const char no[] = ANSWER("400 No", "2", "no"), away[] = ANSWER("503 Away", "0", ""),
                  page[] = ANSWER("500 Oh", "6", "<html>");

struct desk_test {
    struct sample s;
    struct http_server server;
    struct sink *sink;
    struct mlflow_desk *desk;
    char path[32];
};

static void begin(struct desk_test *t, const char *more)
{
    char options[128];
    snprintf(t->path, sizeof t->path, "/tmp/toll-unit-XXXXXX");
    close(mkstemp(t->path));
    unlink(t->path);
    sample_make(&t->s, NULL);
    server_start(&t->server);
    server_answer(&t->server, fine);
    bool has_spool = strcmp(more, ",spool=none") != 0;
    snprintf(options, sizeof options, ",run_id=ab%s%s%s", has_spool ? ",spool=" : "",
             has_spool ? t->path : "", more);
    t->sink = open_at(&t->s, &t->server, options);
    t->desk = mlflow_sink_desk(t->sink);
}

static void end(struct desk_test *t)
{
    sink_close(t->sink, false);
    unlink(t->path);
    server_stop(&t->server);
    sample_remove(&t->s);
}

/* A batch of operations as they are, with so many samples in it. */
static enum delivery deliver(struct desk_test *t, const char *ops, unsigned attempt,
                             enum chunk_of of, struct attempt *a)
{
    struct chunk p = {.of = of, .data = ops, .length = strlen(ops)};
    struct batch b = {.chunks = &p, .count = 1, .samples = 3, .attempt = attempt};
    *a = (struct attempt){0};
    return spooler_deliver(&t->desk->spooler, &b, a);
}

static const char two[] = "batch - 2\n{}\nbatch - 7\n{\"b\":2}\n";

static void test_what_makes_no_sense_is_no_success(void **state)
{
    struct desk_test t;
    struct attempt a;
    begin(&t, "");
    assert_int_equal(deliver(&t, two, 0, CHUNK_NOTE, &a), DELIVERY_DONE);
    assert_int_equal(deliver(&t, "artifact my node/x 2\n{}\n", 0, CHUNK_NOTE, &a),
                     DELIVERY_REFUSED);
    assert_non_null(strstr(a.why, "makes no sense"));
    end(&t);
}

/* Refused in part, then away: the samples are lost, and are not found again with the rest. */
static void test_partly_refused_then_put_aside(void **state)
{
    const char *const first[] = {no, away, away, away, away, NULL};
    struct desk_test t;
    struct attempt a;
    char text[1024];
    begin(&t, "");
    t.server.first = first;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(deliver(&t, two, i, CHUNK_NOTE, &a), DELIVERY_AGAIN);
    assert_int_equal(deliver(&t, two, 3, CHUNK_NOTE, &a), DELIVERY_REFUSED);
    assert_non_null(strstr(a.why, t.path));
    FILE *f = fopen(t.path, "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    assert_non_null(strstr(text, "{\"b\":2}"));
    assert_null(strstr(text, "samples"));
    a = (struct attempt){0};
    assert_int_equal(spooler_send(&t.desk->spooler, &a), DELIVERY_DONE);
    assert_int_equal(a.returned + a.rejected, 0);
    end(&t);
}

/* What was refused before the connection broke is refused after it too. */
static void test_refused_over_two_attempts(void **state)
{
    const char *const first[] = {away, away, away, away, no, away, NULL};
    struct desk_test t;
    struct attempt a;
    begin(&t, "");
    t.server.first = first;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(deliver(&t, two, i, CHUNK_NOTE, &a),
                         i < 3 ? DELIVERY_AGAIN : DELIVERY_KEPT);
    a = (struct attempt){0};
    assert_int_equal(spooler_send(&t.desk->spooler, &a), DELIVERY_AGAIN);
    assert_int_equal(a.returned + a.rejected, 0);
    assert_int_equal(spooler_send(&t.desk->spooler, &a), DELIVERY_DONE);
    assert_int_equal(a.returned, 0);
    assert_int_equal(a.rejected, 3);
    assert_int_equal(access(t.path, F_OK), -1);
    end(&t);
}

/* A page of HTML may be a database that is away: nothing is lost where it can be kept. */
static void test_pages_of_html(void **state)
{
    struct desk_test t;
    struct attempt a;
    begin(&t, "");
    server_answer(&t.server, page);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(deliver(&t, two, i, CHUNK_NOTE, &a),
                         i < 3 ? DELIVERY_AGAIN : DELIVERY_KEPT);
    server_answer(&t.server, fine);
    a = (struct attempt){0};
    assert_int_equal(spooler_send(&t.desk->spooler, &a), DELIVERY_DONE);
    assert_int_equal(a.returned, 3);
    end(&t);
    begin(&t, ",spool=none");
    server_answer(&t.server, page);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(deliver(&t, two, i, CHUNK_NOTE, &a),
                         i < 2 ? DELIVERY_AGAIN : DELIVERY_REFUSED);
    end(&t);
}

/* What asking again does not change, but somebody can. */
static void test_what_is_for_somebody_to_mend(void **state)
{
    static const char *const answers[] = {
        ANSWER("301 Moved", "0", ""),
        ANSWER("401 Who", "0", ""),
        ANSWER("403 No", "0", ""),
        ANSWER("404 No such run", "0", ""),
    };
    struct desk_test t;
    struct attempt a;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        begin(&t, "");
        server_answer(&t.server, answers[i]);
        assert_int_equal(deliver(&t, two, 0, CHUNK_NOTE, &a), DELIVERY_KEPT);
        assert_int_equal(t.server.requests, 1);
        end(&t);
        begin(&t, ",spool=none");
        server_answer(&t.server, answers[i]);
        assert_int_equal(deliver(&t, two, 0, CHUNK_NOTE, &a), DELIVERY_REFUSED);
        end(&t);
    }
}

static void test_a_spool_that_is_full(void **state)
{
    struct desk_test t;
    struct attempt a;
    struct stat st;
    char large[300];
    snprintf(large, sizeof large, "batch - 250\n{%0248d}\n", 0);
    begin(&t, ",spool_size=256");
    server_answer(&t.server, away);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(deliver(&t, large, i, CHUNK_NOTE, &a), DELIVERY_AGAIN);
    assert_non_null(strstr(a.why, "spool_size"));
    assert_int_equal(access(t.path, F_OK), -1);
    struct chunk p = {.of = CHUNK_SUMMARY, .data = large, .length = strlen(large)};
    struct batch b = {.chunks = &p, .count = 1};
    assert_int_equal(spooler_leave(&t.desk->spooler, &b, &a), DELIVERY_KEPT);
    assert_int_equal(stat(t.path, &st), 0);
    assert_true(st.st_size > 256);
    end(&t);
}

/* The run's files are where the server says, however that is written. */
static void test_paths_of_artifacts(void **state)
{
    struct desk_test t;
    struct attempt a;
    begin(&t, "");
    server_answer(&t.server,
                  ANSWER("200 OK", "49", "{\"artifact_uri\":\"mlflow-artifacts:/a b/ab/x%20y\"} "));
    assert_int_equal(deliver(&t, "artifact toll/my%20node/s.json 2\n{}\n", 0, CHUNK_NOTE, &a),
                     DELIVERY_DONE);
    assert_non_null(strstr(t.server.request,
                           "PUT /api/2.0/mlflow-artifacts/artifacts/a%20b/ab/x%20y/toll/"
                           "my%20node/s.json HTTP/1.1\r\n"));
    end(&t);
}

int main(void)
{
    forget_variables();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_makes_no_sense_is_no_success),
        cmocka_unit_test(test_partly_refused_then_put_aside),
        cmocka_unit_test(test_refused_over_two_attempts),
        cmocka_unit_test(test_pages_of_html),
        cmocka_unit_test(test_what_is_for_somebody_to_mend),
        cmocka_unit_test(test_a_spool_that_is_full),
        cmocka_unit_test(test_paths_of_artifacts),
    };
    return RUN("mlflow_desk", tests);
}
