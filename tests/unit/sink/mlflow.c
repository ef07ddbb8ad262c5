/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/mlflow.h"
#include "mlflow_place.h"
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>

/* ---- mlflow --------------------------------------------------------------------------------- */

/* The sink, the client, what is asked early and what is sent later, against a server that
 * says the same to everything. What a real conversation looks like is in tests/live/test_mlflow.py.
 */

static struct mlflow *state_of(struct sink *s)
{
    return s->state;
}

static void test_mlflow_a_run(void **state)
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

static void test_mlflow_kept_and_sent_later(void **state)
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
    assert_non_null(strstr(e.message, "is kept unchanged"));
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

static void test_mlflow_nobody_waits_for_long(void **state)
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
    assert_true(state_of(sink)->client.run.may_exist);
    assert_true(sink_take_report(sink, said, sizeof said));
    assert_non_null(strstr(said, "MLFLOW_RUN_ID is not set"));
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_mlflow_ids(void **state)
{
    assert_true(mlflow_client_is_id("0123abc-DEF_"));
    assert_false(mlflow_client_is_id(""));
    assert_false(mlflow_client_is_id("a b"));
    assert_false(mlflow_client_is_id("a\"b"));
    assert_false(mlflow_client_is_id("0123456789012345678901234567890123456789"
                                     "0123456789012345678901234567890123456789"));
}

static void test_mlflow_mistakes(void **state)
{
    static const char *const bad[][2] = {
        {"mlflow:", "MLFLOW_TRACKING_URI"},
        {"mlflow:mlruns", "'mlflow server'"},
        {"mlflow:http://u:hunter2@/", "invalid URL"},
        {"mlflow:http://h,run_id=\"", "invalid ID in run_id"},
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

/* ---- mlflow setup --------------------------------------------------------------------------- */

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
static void test_mlflow_setup_which_server_the_command_knows(void **state)
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

static void test_mlflow_setup_a_long_url_is_told_whole(void **state)
{
    char url[1200];
    snprintf(url, sizeof url, "http://h/%01100d", 7);
    expect_told(NULL, url, url);
}

static void test_mlflow_setup_the_run(void **state)
{
    struct sample s;
    struct toll_error e;
    sample_make(&s, NULL);
    setenv("MLFLOW_RUN_ID", "of-the-job", 1);
    setenv("MLFLOW_EXPERIMENT_ID", "3", 1);
    struct sink *sink = open_or_skip(&s, "mlflow:http://h,experiment=x");
    struct mlflow_client *c = &state_of(sink)->client;
    assert_string_equal(c->run.run_id, "of-the-job");
    assert_true(c->is_joined && !c->experiment);
    assert_int_equal(mlflow_setup_run(sink, c, false, &e), 0);
    assert_string_equal(c->run.run_id, "");
    assert_string_equal(c->experiment, "x");
    assert_false(c->is_joined);
    sink_close(sink, false);
    sink = open_or_skip(&s, "mlflow:http://h,run_id=said");
    c = &state_of(sink)->client;
    assert_int_equal(mlflow_setup_run(sink, c, false, &e), 0);
    assert_string_equal(c->run.run_id, "said");
    sink_close(sink, false);
    unsetenv("MLFLOW_RUN_ID");
    sink = open_or_skip(&s, "mlflow:http://h");
    assert_string_equal(state_of(sink)->client.run.experiment_id, "3");
    sink_close(sink, false);
    unsetenv("MLFLOW_EXPERIMENT_ID");
    sample_remove(&s);
}

static void test_mlflow_setup_the_node(void **state)
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

/* ---- mlflow early --------------------------------------------------------------------------- */

static unsigned forks;

static void count_fork(void)
{
    forks++;
}

/* One of this program's children, 0: there is none. */
static int find_child(void)
{
    DIR *d = opendir("/proc");
    int found = 0;
    for (struct dirent *e; !found && (e = readdir(d));) {
        char path[300], text[512];
        int pid, parent;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (!f)
            continue;
        const char *behind = fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
        if (behind && sscanf(text, "%d", &pid) == 1 && sscanf(behind, ") %*c %d", &parent) == 1 &&
            parent == getpid())
            found = pid;
        fclose(f);
    }
    closedir(d);
    return found;
}

struct witness {
    struct http_server *server;
    atomic_bool is_over;
    unsigned long long blocked;
};

/* Once the helper has asked the server, it is looked at, and has done its duty. */
static void *look_at_helper(void *arg)
{
    struct witness *w = arg;
    for (unsigned asked = 0; !asked && !atomic_load(&w->is_over); usleep(1000)) {
        pthread_mutex_lock(&w->server->lock);
        asked = w->server->requests;
        pthread_mutex_unlock(&w->server->lock);
    }
    char path[64], line[256];
    int helper = find_child();
    snprintf(path, sizeof path, "/proc/%d/status", helper);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "SigBlk: %llx", &w->blocked);
    if (f)
        fclose(f);
    if (helper)
        kill(helper, SIGKILL);
    return NULL;
}

/* Ctrl-C is for toll, which has a handler that its helper would run as well. */
static void test_mlflow_early_signals_are_not_for_the_helper(void **state)
{
    struct sample s;
    struct http_server server;
    pthread_t thread;
    sample_make(&s, NULL);
    server_start(&server);
    server_answer(&server, NULL);
    struct sink *sink = open_at(&s, &server, ",wait=60s,spool=none");
    sink->run = &s.run;
    struct witness w = {.server = &server};
    assert_int_equal(pthread_create(&thread, NULL, look_at_helper, &w), 0);
    assert_null(sink->kind->environment(sink));
    atomic_store(&w.is_over, true);
    pthread_join(thread, NULL);
    assert_true(w.blocked >> (SIGINT - 1) & 1);
    assert_true(w.blocked >> (SIGTERM - 1) & 1);
    sigset_t own;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &own), 0);
    assert_false(sigismember(&own, SIGINT));
    assert_int_equal(find_child(), 0);
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

/* The C library has to know of it, so that no lock of another thread's is held in the helper. */
static void test_mlflow_early_a_program_with_threads(void **state)
{
    struct sample s;
    struct http_server server;
    sample_make(&s, NULL);
    server_start(&server); /* a thread */
    server_answer(&server, fine);
    forks = 0;
    struct sink *sink = open_at(&s, &server, ",wait=20s,spool=none");
    sink->run = &s.run;
    const char *const *variables = sink->kind->environment(sink);
    assert_non_null(variables);
    assert_string_equal(variables[0], "MLFLOW_RUN_ID=ab-1");
    assert_int_equal(forks, 1);
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

/* … and one without does not notice. */
static void test_mlflow_early_a_program_without_threads(void **state)
{
    struct sample s;
    struct stat st;
    sample_make(&s, NULL);
    struct sink *sink = open_or_skip(&s, "mlflow:http://127.0.0.1:9,wait=20s,spool=none");
    sink->run = &s.run;
    forks = 0;
    assert_null(sink->kind->environment(sink));
    assert_int_equal(stat("/proc/self/task", &st), 0);
    if (st.st_nlink == 3) /* sanitizers may have a thread */
        assert_int_equal(forks, 0);
    sink_close(sink, false);
    sample_remove(&s);
}

/* ---- sending ----------------------------------------------------------------------------- */

static const char no[] = ANSWER("400 No", "2", "no"), away[] = ANSWER("503 Away", "0", ""),
                  page[] = ANSWER("500 Oh", "6", "<html>");

struct sending_test {
    struct sample s;
    struct http_server server;
    struct sink *sink;
    char path[32];
};

static void begin(struct sending_test *t, const char *more)
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
    state_of(t->sink)->looks_left = 0; /* no request but those of the test */
}

static void end(struct sending_test *t)
{
    sink_close(t->sink, false);
    unlink(t->path);
    server_stop(&t->server);
    sample_remove(&t->s);
}

/* A batch of operations as they are, with so many samples in it. */
static enum delivery deliver(struct sending_test *t, const char *ops, unsigned attempt,
                             enum chunk_kind kind, struct attempt *a)
{
    struct chunk p = {.kind = kind, .data = ops, .length = strlen(ops)};
    struct batch b = {.chunks = &p, .count = 1, .samples = 3, .attempt = attempt};
    *a = (struct attempt){0};
    return spool_deliver(t->sink->spool, &b, a);
}

static const char two[] = "batch - 2\n{}\nbatch - 7\n{\"b\":2}\n";

static void test_mlflow_sending_what_makes_no_sense_is_no_success(void **state)
{
    struct sending_test t;
    struct attempt a;
    begin(&t, "");
    assert_int_equal(deliver(&t, two, 0, CHUNK_NOTE, &a), DELIVERY_DONE);
    assert_int_equal(deliver(&t, "artifact my node/x 2\n{}\n", 0, CHUNK_NOTE, &a),
                     DELIVERY_REFUSED);
    assert_non_null(strstr(a.why, "internal error"));
    end(&t);
}

/* Refused in part, then away: the samples are lost, and are not found again with the rest. */
static void test_mlflow_sending_partly_refused_then_put_aside(void **state)
{
    const char *const first[] = {no, away, away, away, away, NULL};
    struct sending_test t;
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
    assert_int_equal(spool_send_file(t.sink->spool, &a), DELIVERY_DONE);
    assert_int_equal(a.returned + a.rejected, 0);
    end(&t);
}

/* What was refused before the connection broke is refused after it too. */
static void test_mlflow_sending_refused_over_two_attempts(void **state)
{
    const char *const first[] = {away, away, away, away, no, away, NULL};
    struct sending_test t;
    struct attempt a;
    begin(&t, "");
    t.server.first = first;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(deliver(&t, two, i, CHUNK_NOTE, &a),
                         i < 3 ? DELIVERY_AGAIN : DELIVERY_KEPT);
    a = (struct attempt){0};
    assert_int_equal(spool_send_file(t.sink->spool, &a), DELIVERY_AGAIN);
    assert_int_equal(a.returned + a.rejected, 0);
    assert_int_equal(spool_send_file(t.sink->spool, &a), DELIVERY_DONE);
    assert_int_equal(a.returned, 0);
    assert_int_equal(a.rejected, 3);
    assert_int_equal(access(t.path, F_OK), -1);
    end(&t);
}

/* A page of HTML may be a database that is away: nothing is lost where it can be kept. */
static void test_mlflow_sending_pages_of_html(void **state)
{
    struct sending_test t;
    struct attempt a;
    begin(&t, "");
    server_answer(&t.server, page);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(deliver(&t, two, i, CHUNK_NOTE, &a),
                         i < 3 ? DELIVERY_AGAIN : DELIVERY_KEPT);
    server_answer(&t.server, fine);
    a = (struct attempt){0};
    assert_int_equal(spool_send_file(t.sink->spool, &a), DELIVERY_DONE);
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
static void test_mlflow_sending_what_is_for_somebody_to_mend(void **state)
{
    static const char *const answers[] = {
        ANSWER("301 Moved", "0", ""),
        ANSWER("401 Who", "0", ""),
        ANSWER("403 No", "0", ""),
        ANSWER("404 No such run", "0", ""),
    };
    struct sending_test t;
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

static void test_mlflow_sending_a_spool_that_is_full(void **state)
{
    struct sending_test t;
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
    struct chunk p = {.kind = CHUNK_SUMMARY, .data = large, .length = strlen(large)};
    struct batch b = {.chunks = &p, .count = 1};
    assert_int_equal(spool_leave(t.sink->spool, &b, &a), DELIVERY_KEPT);
    assert_int_equal(stat(t.path, &st), 0);
    assert_true(st.st_size > 256);
    end(&t);
}

/* The run's files are where the server says, however that is written. */
static void test_mlflow_sending_paths_of_artifacts(void **state)
{
    struct sending_test t;
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

/* ---- mlflow answer -------------------------------------------------------------------------- */

static const char run[] =
    "{\n \"run\": {\"info\": {\"run_uuid\": \"ab\", \"run_name\": \"\\\"run_id\\\": \\\"no\\\"\",\n"
    "  \"run_id\" : \"ab12\", \"artifact_uri\": \"s3:\\/\\/b\", \"time\": 5},\n"
    "  \"data\": {\"tags\": [{\"key\": \"experiment_id\", \"value\": \"x\"}]}}}";

static bool find(const char *name, char *ret, size_t capacity)
{
    return mlflow_answer_text(run, sizeof run - 1, name, ret, capacity);
}

static void test_mlflow_answer_members(void **state)
{
    char text[16];
    assert_true(find("run_id", text, sizeof text));
    assert_string_equal(text, "ab12");
    assert_true(find("artifact_uri", text, sizeof text));
    assert_string_equal(text, "s3://b");
    assert_false(find("artifact_uri", text, 6));
    assert_false(find("experiment_id", text, sizeof text)); /* a value, not a member */
    assert_false(find("time", text, sizeof text));          /* no text */
    assert_false(find("nothing", text, sizeof text));
    for (size_t cut = 0; cut < sizeof run - 1; cut++)
        mlflow_answer_text(run, cut, "artifact_uri", text, sizeof text);
}

static void test_mlflow_answer_errors(void **state)
{
    static const char body[] = "{\"error_code\":\"RESOURCE_ALREADY_EXISTS\",\"message\":\"x\"}";
    assert_true(mlflow_answer_is(body, sizeof body - 1, "RESOURCE_ALREADY_EXISTS"));
    assert_false(mlflow_answer_is(body, sizeof body - 1, "RESOURCE_DOES_NOT_EXIST"));
    assert_false(mlflow_answer_is("<html>", 6, "RESOURCE_DOES_NOT_EXIST"));
    assert_false(mlflow_answer_is("", 0, ""));
    char text[16];
    assert_true(mlflow_answer_text("{\"a\":\"\\u0041\"}", 14, "a", text, sizeof text));
    assert_string_equal(text, "A");
    assert_false(mlflow_answer_text("{\"a\":\"\\u00e4\"}", 14, "a", text, sizeof text));
    assert_true(mlflow_answer_text("[{\"a\":1},{\"a\":\"x\",", 19, "a", text, sizeof text));
    assert_false(mlflow_answer_text("{\"a\":\"\"}", 8, "a", text, sizeof text));
    assert_false(mlflow_answer_text("{\"a\":\"x\\", 8, "a", text, sizeof text));
}

static int set_up(void **state)
{
    forget_variables();
    pthread_atfork(count_fork, NULL, NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlflow_a_run),
        cmocka_unit_test(test_mlflow_kept_and_sent_later),
        cmocka_unit_test(test_mlflow_nobody_waits_for_long),
        cmocka_unit_test(test_mlflow_ids),
        cmocka_unit_test(test_mlflow_mistakes),
        cmocka_unit_test(test_mlflow_setup_which_server_the_command_knows),
        cmocka_unit_test(test_mlflow_setup_a_long_url_is_told_whole),
        cmocka_unit_test(test_mlflow_setup_the_run),
        cmocka_unit_test(test_mlflow_setup_the_node),
        cmocka_unit_test(test_mlflow_early_a_program_without_threads),
        cmocka_unit_test(test_mlflow_early_a_program_with_threads),
        cmocka_unit_test(test_mlflow_early_signals_are_not_for_the_helper),
        cmocka_unit_test(test_mlflow_sending_what_makes_no_sense_is_no_success),
        cmocka_unit_test(test_mlflow_sending_partly_refused_then_put_aside),
        cmocka_unit_test(test_mlflow_sending_refused_over_two_attempts),
        cmocka_unit_test(test_mlflow_sending_pages_of_html),
        cmocka_unit_test(test_mlflow_sending_what_is_for_somebody_to_mend),
        cmocka_unit_test(test_mlflow_sending_a_spool_that_is_full),
        cmocka_unit_test(test_mlflow_sending_paths_of_artifacts),
        cmocka_unit_test(test_mlflow_answer_members),
        cmocka_unit_test(test_mlflow_answer_errors),
    };
    return cmocka_run_group_tests_name("sink/mlflow", tests, set_up, NULL);
}
