/* SPDX-License-Identifier: MIT */
#include "sink/otlp/otlp.h"
#include "http_place.h"
#include "metric/metric.h"
#include "unit.h"

/* ---- otlp ----------------------------------------------------------------------------------- */

/* What a message is of is tested by test_otlp.py. */
static void test_otlp_sends(void **state)
{
    struct sample s;
    struct http_server server;
    struct output_summary o;
    sample_make(&s, "target_cpu_seconds");
    server_start(&server);
    struct sink *sink = http_place_open(&s, &server, "otlp", ",grace=20s");
    assert_int_equal(http_place_run(&s, sink, 3, &o), 0);
    assert_int_equal(o.delivered, 3);
    assert_int_equal(o.way, OUTPUT_SENT);
    assert_true(o.is_whole && o.bytes > 0);
    assert_non_null(strstr(server.request, "POST /v1/metrics HTTP/1.1\r\n"));
    assert_non_null(strstr(server.request, "Content-Type: application/x-protobuf\r\n"));
    assert_non_null(memmem(server.request, server.length, "toll.process.cpu.total", 22));
    assert_non_null(memmem(server.request, server.length, "service.name", 12));
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

/* 3 samples, the end of their series and two figures of the end of the run are 6 points. */
static void expect_rejection(const char *answer, uint64_t lost, const char *why)
{
    struct sample s;
    struct http_server server;
    struct output_summary o;
    sample_make(&s, "target_cpu_seconds");
    server_start(&server);
    server_answer(&server, answer);
    struct sink *sink = http_place_open(&s, &server, "otlp", "/x,grace=20s");
    assert_int_equal(http_place_run(&s, sink, 3, &o), lost || *why ? -EIO : 0);
    assert_non_null(strstr(server.request, "POST /x HTTP/1.1\r\n"));
    assert_int_equal(o.samples, 3);
    assert_int_equal(o.dropped, lost);
    assert_int_equal(o.delivered, 3 - lost);
    assert_int_equal(o.is_whole, !*why);
    assert_string_equal(o.why, why);
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_otlp_taken_in_part(void **state)
{
#define OK(length) "HTTP/1.1 200 OK\r\nContent-Length: " length "\r\n\r\n"
    expect_rejection(OK("8") "\x0a\x06\x08\x01\x12\x02\033x", 1,
                     "server rejected 1 of 6 figures: ?x");
    expect_rejection(OK("4") "\x0a\x02\x08\x09", 3, "server rejected 9 of 6 figures");
    expect_rejection(OK("5") "\x0a\x03\x12\x01x", 0, ""); /* a warning */
    expect_rejection(OK("2") "{}", 0, "");
}

/* ---- otlp names ----------------------------------------------------------------------------- */

/* The series of an entity with that name and attribute. */
static const struct otlp_series *find(enum entity_kind kind, const char *name, const char *value)
{
    size_t count;
    const struct otlp_series *s = otlp_series_of(kind, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(s[i].metric->name, name) == 0 && (s[i].value != NULL) == (value != NULL) &&
            (!value || strcmp(s[i].value, value) == 0))
            return &s[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static void expect(enum entity_kind kind, enum metric_id id, const char *name, const char *key,
                   const char *value, enum otlp_instrument instrument, const char *unit)
{
    const struct otlp_series *s = find(kind, name, value);
    assert_int_equal(s->terms[0].index, id - metric_first(kind));
    assert_int_equal(s->metric->instrument, instrument);
    assert_string_equal(s->metric->unit, unit);
    if (key)
        assert_string_equal(s->key, key);
}

static void test_otlp_names_names(void **state)
{
    expect(ENTITY_PROCESS, process_cpu_user_seconds, "process.cpu.time", "cpu.mode", "user",
           OTLP_COUNTER, "s");
    expect(ENTITY_PROCESS, process_cpu_seconds, "toll.process.cpu.total", NULL, NULL, OTLP_COUNTER,
           "s");
    expect(ENTITY_PROCESS, process_cpu_cores, "process.cpu.utilization", NULL, NULL, OTLP_GAUGE,
           "1");
    expect(ENTITY_PROCESS, process_memory_rss_bytes, "process.memory.usage", NULL, NULL,
           OTLP_UPDOWNCOUNTER, "By");
    expect(ENTITY_PROCESS, process_memory_pss_bytes, "toll.process.memory_pss", NULL, NULL,
           OTLP_GAUGE, "By");
    expect(ENTITY_PROCESS, process_wall_seconds, "toll.process.wall", NULL, NULL, OTLP_COUNTER,
           "s");
    expect(ENTITY_SYSTEM, system_load_1m_number, "toll.system.load_1m", NULL, NULL, OTLP_GAUGE,
           "{task}");
    expect(ENTITY_SYSTEM, system_memory_cached_bytes, "toll.system.memory_cached", NULL, NULL,
           OTLP_GAUGE, "By");
    expect(ENTITY_MOUNT, mount_used_ratio, "toll.mount.used_ratio", NULL, NULL, OTLP_GAUGE, "1");
    expect(ENTITY_SELF, self_ticks_count, "toll.self.ticks", NULL, NULL, OTLP_COUNTER, "{count}");
}

/* No point stands for two figures, and a name means the same thing everywhere. */
static void test_otlp_names_no_two_series_are_one(void **state)
{
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++) {
        size_t count;
        const struct otlp_series *s = otlp_series_of(kind, &count);
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < i; k++) {
                if (strcmp(s[i].metric->name, s[k].metric->name) != 0)
                    continue;
                assert_ptr_equal(s[i].metric, s[k].metric);
                assert_true(s[i].key && s[k].key);
                assert_string_equal(s[i].key, s[k].key);
                assert_string_not_equal(s[i].value, s[k].value);
            }
    }
}

/* Every figure of ours is sent, and the column of the table of metrics says under which name of the
 * conventions. A difference of several is no figure's name. */
static void test_otlp_names_every_figure_has_a_series(void **state)
{
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++) {
        size_t count;
        const struct otlp_series *s = otlp_series_of(kind, &count);
        for (unsigned i = 0; i < metric_count(kind); i++) {
            const struct metric *m = metric_of(metric_first(kind) + i);
            const char *theirs = "";
            bool is_sent = false;
            for (size_t k = 0; k < count; k++) {
                bool has_it = false, is_difference = false;
                for (unsigned t = 0; t < s[k].term_count; t++) {
                    has_it |= s[k].terms[t].index == i;
                    is_difference |= s[k].terms[t].is_subtracted;
                }
                is_sent |= has_it;
                if (has_it && !is_difference && strncmp(s[k].metric->name, "toll.", 5) != 0)
                    theirs = s[k].metric->name;
            }
            assert_true(is_sent);
            assert_string_equal(m->facts.otel, theirs);
        }
    }
}

/* A name is never the namespace of another, whatever stands in front of it. */
static void test_otlp_names_names_are_no_namespaces(void **state)
{
    static const char *const prefixes[] = {
        NULL,
        "toll.part.",
        "toll.target.",
        "toll.target.part.",
        "toll.disk.stacked.",
        "toll.disk.virtual.",
        "toll.netif.target.",
        "toll.rapl.zone.",
        "toll.gpu.instance.",
    };
    for (size_t p = 0; p < ARRAY_LEN(prefixes); p++)
        for (unsigned kind = 0; kind < ENTITY_KINDS; kind++) {
            size_t count;
            const struct otlp_series *s = otlp_series_of(kind, &count);
            for (size_t i = 0; i < count; i++)
                for (size_t k = 0; k < count; k++) {
                    struct buf a = {0}, b = {0};
                    otlp_name(&a, s[i].metric, prefixes[p]);
                    otlp_name(&b, s[k].metric, prefixes[p]);
                    assert_true(strncmp(a.data, b.data, a.length) != 0 || b.data[a.length] != '.');
                    buf_done(&a);
                    buf_done(&b);
                }
        }
}

static void test_otlp_names_other_prefixes(void **state)
{
    struct buf b = {0};
    otlp_name(&b, find(ENTITY_PROCESS, "process.cpu.time", "user")->metric, "toll.part.");
    buf_putc(&b, ' ');
    otlp_name(&b, find(ENTITY_PROCESS, "toll.process.cpu.total", NULL)->metric, "toll.part.");
    buf_putc(&b, ' ');
    otlp_name(&b, find(ENTITY_GPU, "hw.energy", NULL)->metric, "toll.gpu.instance.");
    buf_putc(&b, ' ');
    otlp_name(&b, find(ENTITY_GPU, "hw.gpu.memory.usage", NULL)->metric, "toll.gpu.instance.");
    assert_string_equal(b.data, "toll.part.cpu.time toll.part.cpu.total toll.gpu.instance.energy "
                                "toll.gpu.instance.memory.usage");
    buf_done(&b);
}

static void test_otlp_names_values(void **state)
{
    double values[METRICS_PER_ENTITY] = {0}, got;
    uint64_t present = 0;
#define PUT(metric, value)                                                                         \
    do {                                                                                           \
        values[metric] = value;                                                                    \
        present |= BIT(metric);                                                                    \
    } while (0)
    PUT(process_cpu_cores, 3);
    const struct otlp_series *share = find(ENTITY_PROCESS, "process.cpu.utilization", NULL);
    assert_true(otlp_series_value(share, values, present, 4, &got) && got == 0.75);
    assert_false(otlp_series_value(share, values, present, 0, &got));
    assert_false(otlp_series_value(share, values, 0, 4, &got));
    present = 0;
    const struct otlp_series *reserved = find(ENTITY_MOUNT, "system.filesystem.usage", "reserved");
    PUT(mount_size_bytes - mount_first, 100);
    PUT(mount_used_bytes - mount_first, 60);
    assert_false(otlp_series_value(reserved, values, present, 4, &got));
    PUT(mount_available_bytes - mount_first, 35);
    assert_true(otlp_series_value(reserved, values, present, 4, &got) && got == 5);
    PUT(mount_available_bytes - mount_first, 45); /* read at another moment */
    assert_false(otlp_series_value(reserved, values, present, 4, &got));
}

/* ---- otlp answer ---------------------------------------------------------------------------- */

static bool read_answer(const char *text, size_t length, uint64_t rejected, const char *message)
{
    struct otlp_answer a;
    bool is_whole = otlp_answer_read(text, length, &a);
    assert_int_equal(a.rejected, rejected);
    assert_int_equal(a.message.end - a.message.at, strlen(message));
    if (*message)
        assert_memory_equal(a.message.at, message, strlen(message));
    return is_whole;
}

#define READ(text, rejected, message) read_answer(text, sizeof text - 1, rejected, message)

static void test_otlp_answer_all_was_taken(void **state)
{
    assert_true(READ("", 0, ""));
    assert_true(READ("\x0a\x00", 0, ""));
    assert_true(READ("\x0a\x03\x12\x01x", 0, "x")); /* a warning alone */
}

static void test_otlp_answer_a_part_was_rejected(void **state)
{
    assert_true(READ("\x0a\x03\x08\xac\x02", 300, ""));
    assert_true(READ("\x0a\x07\x08\x07\x12\x03old", 7, "old"));
    assert_true(READ("\x0a\x07\x12\x03old\x08\x07", 7, "old")); /* in any order */
}

/* Fields of a later version: of each of the wire's types. */
static void test_otlp_answer_what_is_not_known(void **state)
{
    assert_true(READ("\x18\x05\x0a\x02\x08\x02", 2, ""));
    assert_true(READ("\x0a\x13\x19"
                     "12345678"
                     "\x08\x02\x25"
                     "1234"
                     "\x1a\x01y",
                     2, ""));
    assert_true(READ("\x0a\x02\x12\x00", 0, ""));
}

static void test_otlp_answer_damage(void **state)
{
    assert_false(READ("\x0a\x7f\x08\x01", 0, ""));
    assert_false(READ("\x0a\x01\x08", 0, ""));
    assert_false(READ("\x0a\x03\x08\x01\x12", 1, "")); /* cut behind the number */
    assert_false(READ("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0, ""));
    assert_false(READ("{}", 0, ""));
    assert_false(READ("<html>", 0, ""));
    /* A number below 0 means nothing. */
    assert_true(READ("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otlp_sends),
        cmocka_unit_test(test_otlp_taken_in_part),
        cmocka_unit_test(test_otlp_names_names),
        cmocka_unit_test(test_otlp_names_no_two_series_are_one),
        cmocka_unit_test(test_otlp_names_every_figure_has_a_series),
        cmocka_unit_test(test_otlp_names_names_are_no_namespaces),
        cmocka_unit_test(test_otlp_names_other_prefixes),
        cmocka_unit_test(test_otlp_names_values),
        cmocka_unit_test(test_otlp_answer_all_was_taken),
        cmocka_unit_test(test_otlp_answer_a_part_was_rejected),
        cmocka_unit_test(test_otlp_answer_what_is_not_known),
        cmocka_unit_test(test_otlp_answer_damage),
    };
    return RUN("sink/otlp", tests);
}
