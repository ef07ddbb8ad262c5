/* SPDX-License-Identifier: MIT */
#include "sink/points.h"
#include "base/text/buf.h"
#include "http_server.h"
#include "sample.h"
#include "sink/http.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

/* ---- points --------------------------------------------------------------------------------- */

static struct points_head head_of(const struct buf *b)
{
    struct points_head h;
    memcpy(&h, b->data, sizeof h);
    assert_int_equal(b->length, sizeof h + h.count * sizeof(struct point));
    return h;
}

static struct point point_at(const struct buf *b, size_t i)
{
    struct point p;
    memcpy(&p, b->data + sizeof(struct points_head) + i * sizeof p, sizeof p);
    return p;
}

static void test_points_a_frame(void **state)
{
    struct sample s;
    struct points p;
    struct buf b = {0}, name = {0};
    const struct metric *m;
    sample_make(&s, NULL);
    points_init(&p);
    row_put_u64(&s.parts[PART_MAIN], process_cpu_seconds, 1500000000);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_rss_bytes, 4096);
    row_put_u64(&s.self, self_ticks_count, 7);
    points_add(&p, &s.run, &s.selection, &s.frame, &b);
    assert_int_equal(head_of(&b).time_ms, 1731000000123);
    assert_int_equal(head_of(&b).count, 3); /* what is not known is not there */
    const struct point_row *row = points_series(&p, point_at(&b, 1).series, &m);
    assert_true(point_at(&b, 1).value == 1.5);
    assert_int_equal(row->kind, ENTITY_TARGET);
    points_name(&name, row->kind, m);
    assert_string_equal(name.data, "toll_target_cpu_seconds");
    assert_string_equal(row->labels.items[row->labels.count - 1].name, "scope");
    assert_string_equal(row->labels.items[row->labels.count - 1].value, "main");
    points_series(&p, point_at(&b, 2).series, &m);
    assert_string_equal(m->facts.name, "ticks");

    /* The same moment again: time rises all the same. */
    buf_clear(&b);
    points_add(&p, &s.run, &s.selection, &s.frame, &b);
    assert_int_equal(head_of(&b).time_ms, 1731000000124);

    buf_clear(&b);
    points_add_end(&p, &b);
    assert_int_equal(head_of(&b).time_ms, 1731000000125);
    assert_int_equal(head_of(&b).count, 3);
    uint64_t bits;
    struct point end = point_at(&b, 0);
    memcpy(&bits, &end.value, sizeof bits);
    assert_true(bits == POINTS_END_BITS);
    buf_done(&b);
    buf_done(&name);
    points_done(&p);
    sample_remove(&s);
}

static void test_points_instances_and_targets(void **state)
{
    struct sample s;
    struct points p;
    struct buf b = {0};
    const struct metric *m;
    sample_make(&s, NULL);
    points_init(&p);
    struct instance disk, *list[] = {&disk};
    instance_init(&disk, ENTITY_DISK);
    disk.number = 40;
    snprintf(disk.entity.name, sizeof disk.entity.name, "vda");
    disk.entity.labels[0] = (struct label){"class", "ssd"};
    char scope[] = "scope=q", class[] = "class=mine", *labels[] = {scope, class, NULL};
    s.run.labels = labels; /* what toll calls its own keeps its name */
    row_put_u64(&disk.row, disk_read_bytes, 5);
    s.frame.machine = list;
    s.frame.machine_count = 1;
    struct frame_target targets[2] = {{.name = "one"}, {.name = "two"}};
    for (unsigned i = 0; i < 2; i++)
        targets[i].parts[PART_COMBINED] = (struct frame_row){&s.entity, &s.parts[PART_MAIN]};
    row_put_u64(&s.parts[PART_MAIN], process_cpu_seconds, 1);
    s.frame.targets = targets;
    s.frame.target_count = 2;
    points_add(&p, &s.run, &s.selection, &s.frame, &b);
    assert_int_equal(head_of(&b).count, 4); /* main, one, two, the disk */
    const struct point_row *row = points_series(&p, point_at(&b, 2).series, &m);
    assert_string_equal(row->labels.items[row->labels.count - 1].value, "two");
    row = points_series(&p, point_at(&b, 3).series, &m);
    assert_int_equal(row->kind, ENTITY_DISK);
    assert_string_equal(m->facts.name, "read_bytes");
    assert_string_equal(row->labels.items[0].name, "class");
    assert_string_equal(row->labels.items[0].value, "ssd");
    assert_string_equal(row->labels.items[1].name, "disk");
    assert_string_equal(row->labels.items[1].value, "vda");
    assert_string_equal(row->labels.items[3].name, "label_class");
    assert_string_equal(row->labels.items[3].value, "mine");
    assert_string_equal(row->labels.items[4].name, "label_scope");
    assert_string_equal(row->labels.items[4].value, "q");
    row = points_series(&p, point_at(&b, 0).series, &m);
    assert_string_equal(row->labels.items[0].name, "class");
    assert_string_equal(row->labels.items[0].value, "mine");
    s.run.labels = NULL;
    buf_done(&b);
    points_done(&p);
    sample_remove(&s);
}

/* ---- labels --------------------------------------------------------------------------------- */

static void test_labels_names_and_values(void **state)
{
    struct labels l = {0};
    labels_add(&l, "b", "1");
    labels_add(&l, "a-b.c", "2");
    labels_add(&l, "b", "3"); /* taken */
    labels_add(&l, "b", "4"); /* … and so is what it would be called */
    labels_add(&l, "9", "x");
    labels_add(&l, "__name__", "evil");
    labels_add(&l, "\xc3\xbc", "u"); /* no letter of it is left */
    labels_add(&l, "_", "1");
    labels_add(&l, "A", "caf\xe9 \xc3\xa9");
    labels_add(&l, "empty", "");
    static const char *const expected[][2] = {
        {"A", "caf\xc3\xa9 \xc3\xa9"},
        {"_", "1"},
        {"_9", "x"},
        {"a_b_c", "2"},
        {"b", "1"},
        {"label__", "u"},
        {"label__name__", "evil"},
        {"label_b", "3"},
    };
    assert_int_equal(l.count, ARRAY_LEN(expected));
    for (size_t i = 0; i < l.count; i++) {
        assert_string_equal(l.items[i].name, expected[i][0]);
        assert_string_equal(l.items[i].value, expected[i][1]);
    }
    assert_true(labels_has(&l, "b", "1"));
    assert_false(labels_has(&l, "b", "3") || labels_has(&l, "c", "1"));
    assert_false(l.failed);
    for (unsigned i = 0; i < 2 * LABELS_AT_MOST; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%u", i);
        labels_add(&l, key, "x");
    }
    assert_int_equal(l.count, LABELS_AT_MOST);
    assert_true(l.failed);
    labels_done(&l);
}

static void test_labels_of_a_run(void **state)
{
    struct labels l = {0};
    char name[] = "train", one[] = "team=blue", two[] = "run=mine", three[] = "scope=q",
         four[] = "gpu=a100", five[] = "system=old";
    char *labels[] = {one, two, three, four, five, NULL};
    struct run run = {.name = name, .host = "box", .labels = labels, .parallel.rank = "3"};
    labels_add_run(&l, &run, false);
    labels_add_users(&l, &run);
    static const char *const expected[][2] = {
        {"instance", "box"}, {"label_gpu", "a100"}, {"label_run", "mine"}, {"label_scope", "q"},
        {"rank", "3"},       {"run", "train"},      {"system", "old"},     {"team", "blue"},
    };
    assert_int_equal(l.count, ARRAY_LEN(expected));
    for (size_t i = 0; i < l.count; i++) {
        assert_string_equal(l.items[i].name, expected[i][0]);
        assert_string_equal(l.items[i].value, expected[i][1]);
    }
    labels_done(&l);
}

/* What tells this run from others: its own id, and what the batch system calls it. A label of the
 * user keeps its name where toll has none of that name, and is not there twice. */
static void test_labels_identity(void **state)
{
    static const char id[] = "01930790-5c00-7000-8000-000000000000";
    char name[] = "train", one[] = "id=mine", two[] = "job_id=1234", three[] = "array_index=6";
    char *labels[] = {one, two, three, NULL};
    struct run run = {
        .name = name, .host = "box", .labels = labels, .job = {.id = "1234", .array_index = "5"}};
    snprintf(run.id, sizeof run.id, "%s", id);
    static const char *const with_id[][2] = {
        {"array_index", "5"},       {"id", id},           {"instance", "box"}, {"job_id", "1234"},
        {"label_array_index", "6"}, {"label_id", "mine"}, {"run", "train"},
    };
    static const char *const without[][2] = {
        {"array_index", "5"},       {"id", "mine"},   {"instance", "box"}, {"job_id", "1234"},
        {"label_array_index", "6"}, {"run", "train"},
    };
    for (int has_id = 0; has_id < 2; has_id++) {
        const char *const(*expected)[2] = has_id ? with_id : without;
        struct labels l = {0};
        labels_add_run(&l, &run, has_id);
        labels_add_users(&l, &run);
        assert_int_equal(l.count, has_id ? ARRAY_LEN(with_id) : ARRAY_LEN(without));
        for (size_t i = 0; i < l.count; i++) {
            assert_string_equal(l.items[i].name, expected[i][0]);
            assert_string_equal(l.items[i].value, expected[i][1]);
        }
        labels_done(&l);
    }
}

/* Those of the user are cut short. */
static void test_labels_too_many(void **state)
{
    enum { MANY = 2 * LABELS_AT_MOST };
    static char texts[MANY][16];
    char *labels[MANY + 1] = {0};
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "a%u=x", i);
        labels[i] = texts[i];
    }
    struct labels l = {0};
    struct run run = {.host = "box", .labels = labels};
    labels_add_run(&l, &run, true);
    labels_add(&l, "scope", "disk");
    size_t own = l.count;
    labels_add_users(&l, &run);
    assert_int_equal(l.count, own + LABELS_OF_USER_AT_MOST);
    assert_false(l.failed);
    assert_string_equal(l.items[l.count - 1].name, "scope");
    labels_done(&l);
}

/* ---- point batch ---------------------------------------------------------------------------- */

static void add_chunk(struct buf *b, int64_t time_ms, const struct point *points, uint64_t count)
{
    struct points_head head = {time_ms, count};
    buf_add(b, (const char *)&head, sizeof head);
    buf_add(b, (const char *)points, count * sizeof *points);
}

static void test_point_batch_in_order(void **state)
{
    struct point first[] = {{7, 1.5}, {3, 2}}, second[] = {{3, 4}};
    struct buf a = {0}, b = {0};
    struct point_batch p = {0};
    add_chunk(&a, 100, first, 2);
    add_chunk(&b, 200, second, 1);
    struct chunk chunks[] = {{CHUNK_FRAME, 1, a.data, a.length},
                             {CHUNK_FRAME, 1, b.data, b.length}};
    struct batch batch = {.chunks = chunks, .count = 2, .samples = 2};
    assert_int_equal(point_batch_take(&p, &batch), 0);
    assert_int_equal(p.count, 3);
    point_batch_sort(&p);
    assert_int_equal(p.items[0].series, 3);
    assert_int_equal(p.items[0].time_ms, 100);
    assert_true(p.items[0].value == 2);
    assert_int_equal(p.items[1].series, 3);
    assert_int_equal(p.items[1].time_ms, 200);
    assert_int_equal(p.items[2].series, 7);
    batch.count = 1; /* in the place of what it had */
    assert_int_equal(point_batch_take(&p, &batch), 0);
    assert_int_equal(p.count, 2);
    batch.count = 0;
    assert_int_equal(point_batch_take(&p, &batch), 0);
    assert_int_equal(p.count, 0);
    point_batch_sort(&p);
    point_batch_done(&p);
    buf_done(&a);
    buf_done(&b);
}

static void test_point_batch_ends(void **state)
{
    uint64_t bits = POINTS_END_BITS;
    double end;
    memcpy(&end, &bits, sizeof end);
    assert_true(point_is_end(end));
    assert_false(point_is_end(0));
    assert_false(point_is_end((double)NAN));
}

/* ---- exposition ----------------------------------------------------------------------------- */

static void test_exposition_both_flavours(void **state)
{
    struct sample s;
    struct points p;
    struct buf chunk = {0}, text = {0};
    char name[] = "a \"b\\";
    sample_make(&s, "target_cpu_seconds,main_threads");
    char *before = s.run.name;
    s.run.name = name;
    points_init(&p);
    struct exposition x = {.points = &p};
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1234567891);
    row_put_u64(&s.parts[PART_MAIN], process_threads_count, 3);
    points_add(&p, &s.run, &s.selection, &s.frame, &chunk);
    assert_int_equal(exposition_take(&x, chunk.data, chunk.length), 0);
    exposition_write(&x, &text, EXPOSITION_OPENMETRICS);
    assert_string_equal(
        text.data,
        "# TYPE toll_target_cpu_seconds counter\n"
        "# UNIT toll_target_cpu_seconds seconds\n"
        "# HELP toll_target_cpu_seconds CPU time in user and system mode together\n"
        "toll_target_cpu_seconds_total{instance=\"box\",run=\"a \\\"b\\\\\",scope=\"combined\"} "
        "1.234567891\n"
        "# TYPE toll_target_threads gauge\n"
        "# HELP toll_target_threads Threads\n"
        "toll_target_threads{instance=\"box\",run=\"a \\\"b\\\\\",scope=\"main\"} 3\n"
        "# EOF\n");
    buf_clear(&text);
    exposition_write(&x, &text, EXPOSITION_TEXT);
    assert_non_null(strstr(text.data, "# TYPE toll_target_cpu_seconds_total counter\n"));
    assert_null(strstr(text.data, "# UNIT"));
    assert_null(strstr(text.data, "# EOF"));
    buf_done(&chunk);
    buf_done(&text);
    exposition_done(&x);
    points_done(&p);
    s.run.name = before;
    sample_remove(&s);
}

/* What was so at a moment is so no longer; what was counted, and the highest, stays. */
static void test_exposition_the_end(void **state)
{
    struct sample s;
    struct points p;
    struct buf chunk = {0}, text = {0};
    sample_make(&s, "target_cpu_seconds,target_threads,target_memory_peak_bytes");
    points_init(&p);
    struct exposition x = {.points = &p};
    exposition_begin(&x, &s.run);
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    row_put_u64(&s.parts[PART_COMBINED], process_threads_count, 3);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_peak_bytes, 4096);
    points_add(&p, &s.run, &s.selection, &s.frame, &chunk);
    assert_int_equal(exposition_take(&x, chunk.data, chunk.length), 0);
    exposition_write(&x, &text, EXPOSITION_TEXT);
    assert_non_null(strstr(text.data, "toll_target_threads{"));
    assert_null(strstr(text.data, "toll_run_"));
    static const struct {
        struct toll_end end;
        const char *status;
    } all[] = {
        {{.ended = true, .status = 3}, "toll_run_exit_code{instance=\"box\",run=\"make\"} 3\n"},
        {{.ended = true, .signaled = true, .status = 9},
         "toll_run_exit_signal{instance=\"box\",run=\"make\"} 9\n"},
        {{.ended = true, .unknown = true}, NULL},
        {{.ended = false}, NULL}, /* somebody was attached, and left */
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        s.summary.whole.end = all[i].end;
        buf_clear(&chunk);
        buf_clear(&text);
        exposition_add_end(&chunk, &s.summary);
        exposition_take_end(&x, chunk.data, chunk.length);
        exposition_write(&x, &text, EXPOSITION_OPENMETRICS);
        assert_non_null(strstr(text.data, "toll_target_cpu_seconds_total{"));
        assert_non_null(strstr(text.data, "toll_target_memory_peak_bytes{"));
        assert_null(strstr(text.data, "toll_target_threads"));
        assert_non_null(strstr(text.data, "# UNIT toll_run_end_time_seconds seconds\n"));
        assert_non_null(
            strstr(text.data,
                   "\ntoll_run_end_time_seconds{instance=\"box\",run=\"make\"} 1731000002.123\n"));
        if (all[i].status)
            assert_non_null(strstr(text.data, all[i].status));
        else
            assert_null(strstr(text.data, "toll_run_exit"));
    }
    buf_done(&chunk);
    buf_done(&text);
    exposition_done(&x);
    points_done(&p);
    sample_remove(&s);
}

static void test_exposition_numbers(void **state)
{
    static const struct {
        double value;
        const char *text;
    } all[] = {
        {0.1, "0.1"}, {1e20, "1e+20"}, {NAN, "NaN"}, {INFINITY, "+Inf"}, {-INFINITY, "-Inf"}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct buf b = {0};
        exposition_number(&b, all[i].value);
        assert_string_equal(b.data, all[i].text);
        buf_done(&b);
    }
}

/* ---- http sink ------------------------------------------------------------------------------ */

static const struct sink_option options[] = {SINK_HTTP_OPTIONS, {.facts = {0}}};

static const struct sink_kind kind = {.format = {"kind", "", "", "URL"}, .options = options};

static int open_it(struct sink *s, const char *place, const char *behind,
                   const struct http_settings *otherwise, struct http **ret, struct toll_error *e)
{
    *s = (struct sink){.kind = &kind, .fd = -1, .place = strdup(place), .name = strdup("x")};
    int r = sink_options_take(&s->settings, "kind", options, behind, e);
    if (r == 0)
        r = http_sink_open(s, otherwise, ret, e);
    if (r == -EOPNOTSUPP)
        skip();
    return r;
}

static void close_it(struct sink *s, struct http *h)
{
    http_close(h);
    sink_options_done(&s->settings);
    free(s->place);
    free(s->name);
}

static void test_http_sink_mistakes(void **state)
{
    static const char *const bad[][3] = {
        {"host:9090", "", "invalid URL"},
        {"http://me:hunter2@", "", "invalid URL"},
        {"http://h", ",timeout=0", "expected a time above 0"},
        {"http://h", ",header=: x", "expected 'Name: value'"},
        {"http://h", ",token_file=/dev/null", "is empty"},
        {"http://h", ",password_file=/dev/null", "needs the option user"},
        {"http://h", ",user=me,token_file=/dev/null", "cannot be combined"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sink s;
        struct http *h = NULL;
        struct toll_error e = {0};
        assert_int_equal(open_it(&s, bad[i][0], bad[i][1], NULL, &h, &e), -EINVAL);
        assert_null(h);
        assert_non_null(strstr(e.message, bad[i][2]));
        assert_null(strstr(e.message, "hunter2"));
        close_it(&s, NULL);
    }
}

/* What an answer means for a batch. */
static void test_http_sink_answers(void **state)
{
    static const struct {
        const char *answer;
        enum delivery delivery;
        const char *why;
        uint64_t wait_ns, bytes;
    } cases[] = {
        {"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", DELIVERY_DONE, "", 0, 3},
        {"HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno", DELIVERY_REFUSED,
         "server answered 400: no", 0, 0},
        {"HTTP/1.1 429 Slow\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n", DELIVERY_AGAIN,
         "server answered 429", 2 * NS_PER_SECOND, 0},
        {"HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n", DELIVERY_AGAIN, "server answered 503", 0,
         0},
        {"HTTP/1.1 302 There\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", DELIVERY_REFUSED,
         "server answered 302", 0, 0},
    };
    struct http_server server;
    char url[64];
    server_start(&server);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/x", server.port);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sink s;
        struct http *h = NULL;
        struct attempt a = {0};
        struct toll_error e = {0};
        assert_int_equal(open_it(&s, url, "", NULL, &h, &e), 0);
        assert_int_equal(s.way, OUTPUT_SENT);
        server_answer(&server, cases[i].answer);
        struct http_request q = {.url = url, .body = "abc", .length = 3};
        assert_int_equal(http_sink_send(&s, h, &q, NULL, &a), cases[i].delivery);
        assert_memory_equal(a.why, cases[i].why, strlen(cases[i].why));
        assert_int_equal(a.wait_ns, cases[i].wait_ns);
        assert_int_equal(s.bytes, cases[i].bytes);
        close_it(&s, h);
    }
    server_stop(&server);
}

/* What the options say comes first; who one is, only as a whole. */
static void test_http_sink_otherwise(void **state)
{
    static const struct http_settings others = {.token = "sesame"};
    struct http_server server;
    struct sink s;
    struct http *h = NULL;
    struct attempt a = {0};
    char url[64], named[64];
    server_start(&server);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/x", server.port);
    snprintf(named, sizeof named, "http://me:pw@127.0.0.1:%u/x", server.port);
    struct http_request q = {.url = url};
    assert_int_equal(open_it(&s, url, "", &others, &h, NULL), 0);
    assert_int_equal(http_sink_send(&s, h, &q, NULL, &a), DELIVERY_DONE);
    assert_non_null(strstr(server.request, "Authorization: Bearer sesame\r\n"));
    close_it(&s, h);
    q = (struct http_request){.url = named};
    assert_int_equal(open_it(&s, named, "", &others, &h, NULL), 0);
    assert_null(strstr(s.name, "pw"));
    assert_int_equal(http_sink_send(&s, h, &q, NULL, &a), DELIVERY_DONE);
    assert_non_null(strstr(server.request, "Authorization: Basic "));
    close_it(&s, h);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_a_frame),
        cmocka_unit_test(test_points_instances_and_targets),
        cmocka_unit_test(test_labels_names_and_values),
        cmocka_unit_test(test_labels_of_a_run),
        cmocka_unit_test(test_labels_identity),
        cmocka_unit_test(test_labels_too_many),
        cmocka_unit_test(test_point_batch_in_order),
        cmocka_unit_test(test_point_batch_ends),
        cmocka_unit_test(test_exposition_both_flavours),
        cmocka_unit_test(test_exposition_the_end),
        cmocka_unit_test(test_exposition_numbers),
        cmocka_unit_test(test_http_sink_mistakes),
        cmocka_unit_test(test_http_sink_answers),
        cmocka_unit_test(test_http_sink_otherwise),
    };
    return RUN("sink/points", tests);
}
