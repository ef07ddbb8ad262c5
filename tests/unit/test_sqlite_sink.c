/* SPDX-License-Identifier: MIT
 * … and sqlite_summary.c: a small run from its beginning to its end. */
#include "sample.h"
#include "sqlite_place.h"

static struct sink *begun(struct sample *s)
{
    struct sink *sink = sample_sink(s, "x.sqlite");
    assert_int_equal(sink_begin(sink, &s->run), 0);
    return sink;
}

static void end(struct sample *s, struct sink *sink, bool is_whole)
{
    struct output_summary came = {0};
    assert_int_equal(sink_summary(sink, &s->summary), 0);
    sink_end(sink);
    sink_wait(sink, &came);
    assert_true(came.is_whole == is_whole);
    sink_close(sink, false);
}

static void test_a_run(void **state)
{
    struct sample s;
    char path[512];
    sample_make(&s, "cpu_seconds,memory_rss_bytes");
    tree_path(&s.tree, path, "x.sqlite");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 2500000000, QUALITY_EXACT);
    struct sink *sink = begun(&s);
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 2500000001);
    for (s.frame.tick = 0; s.frame.tick < 3; s.frame.tick++)
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_int_equal(sink_note(sink, 5, "a sentence"), 0);
    end(&s, sink, true);
    sqlite_place_expect_in(path, "SELECT count(*) FROM samples", "3");
    sqlite_place_expect_in(path, "SELECT count(*) FROM entities", "4");
    sqlite_place_expect_in(path, "SELECT max(cpu_ns) FROM target_samples", "2500000001");
    sqlite_place_expect_in(path, "SELECT count(memory_rss_bytes) FROM target_samples", "0");
    sqlite_place_expect_in(path, "SELECT sentence FROM notes", "a sentence");
    sqlite_place_expect_in(path,
                           "SELECT total || quality || means FROM figures WHERE metric = "
                           "'cpu_seconds' AND part = 'combined'",
                           "2.5exacttest");
    sqlite_place_expect_in(path, "SELECT status || code || wall_ns FROM runs", "exited32000000000");
    sqlite_place_expect_in(path,
                           "SELECT summary ->> '$.target.combined.cpu_seconds.total' FROM "
                           "runs",
                           "2.5");
    sample_remove(&s);
}

static void test_a_file_that_goes_away(void **state)
{
    struct sample s;
    char path[512];
    sample_make(&s, NULL);
    struct sink *sink = begun(&s);
    assert_int_equal(unlink(tree_path(&s.tree, path, "x.sqlite")), 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    end(&s, sink, false);
    assert_int_not_equal(access(path, F_OK), 0);
    sample_remove(&s);
}

/* Made for a command that did not start. */
static void test_nothing_stays(void **state)
{
    struct sample s;
    char path[512];
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "x.sqlite");
    tree_path(&s.tree, path, "x.sqlite");
    assert_int_equal(access(path, F_OK), 0);
    assert_true(sink_writes_to(sink, path));
    sink_close(sink, true);
    assert_int_not_equal(access(path, F_OK), 0);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_run, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_a_file_that_goes_away, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_nothing_stays, sqlite_place_is_built_in),
    };
    return RUN("sqlite_sink", tests);
}
