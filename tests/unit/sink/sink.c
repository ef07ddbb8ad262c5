/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"
#include "sample.h"
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>

/* ---- sink ----------------------------------------------------------------------------------- */

static void test_sink_choose(void **state)
{
    const struct sink_kind *kind = NULL;
    const char *rest = NULL;
    struct toll_error e = {0};
    for (size_t i = 0; sink_kinds[i]; i++) {
        const struct toll_format *f = &sink_kinds[i]->format;
        char path[64];
        snprintf(path, sizeof path, "some/run,y=z.x%s", f->suffix);
        if (*f->suffix) { /* others have to be named */
            assert_int_equal(sink_choose(NULL, path, &kind, &rest, &e), 0);
            assert_ptr_equal(kind, sink_kinds[i]);
            assert_string_equal(rest, path);
        }
        snprintf(path, sizeof path, "%s:a,b=c", f->name);
        assert_int_equal(sink_choose(NULL, path, &kind, &rest, &e), 0);
        assert_ptr_equal(kind, sink_kinds[i]);
        assert_string_equal(rest, "a,b=c");
        assert_int_equal(sink_choose(f->name, NULL, &kind, &rest, &e), 0);
        assert_ptr_equal(kind, sink_kinds[i]);
        assert_int_equal(sink_choose(f->name, "whatever.else", &kind, &rest, &e), 0);
        assert_ptr_equal(kind, sink_kinds[i]); /* the name wins */
    }
    assert_int_equal(sink_choose(NULL, "some/run.db,every=2s", &kind, &rest, &e), 0);
    assert_string_equal(kind->format.name, "sqlite");
    static const char *const bad[] = {"run", "run.xyz", ".csv",      "run.csv.gz",
                                      "csv", "",        "prometheus"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        kind = NULL;
        assert_int_equal(sink_choose(NULL, bad[i], &kind, &rest, &e), -EINVAL);
        assert_null(kind);
        assert_non_null(strstr(e.message, ".jsonl"));
    }
    assert_int_equal(sink_choose(NULL, "xcsv:run", &kind, &rest, &e), -EINVAL);
    assert_non_null(strstr(e.message, "did you mean 'csv:'?"));
    static const char *const in_vain[] = {"run.csv,a=b", "csv:run.csv,a=b"};
    for (size_t i = 0; i < ARRAY_LEN(in_vain); i++) {
        assert_int_equal(sink_choose(NULL, in_vain[i], &kind, &rest, &e), -EINVAL);
        assert_non_null(strstr(e.message, "csv has no options"));
    }
    assert_int_equal(sink_choose(NULL, "some/run.prom", &kind, &rest, &e), 0);
    assert_string_equal(kind->format.name, "openmetrics");
    assert_int_equal(sink_choose("xml", "run.csv", &kind, &rest, &e), -EINVAL);
    assert_non_null(strstr(e.message, "xml"));
    assert_int_equal(sink_choose(NULL, NULL, &kind, &rest, NULL), -EINVAL);
}

static void test_sink_files_that_were_made_are_discarded(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    tree_write(&s.tree, "old.csv", "a record\n");
    struct sink *new = sample_sink(&s, "new.csv");
    struct sink *old = sample_sink(&s, "old.csv");
    assert_true(tree_has(&s.tree, "new.csv"));
    assert_true(new->made_file);
    assert_false(old->made_file);
    sink_close(new, true);
    sink_close(old, true);
    assert_false(tree_has(&s.tree, "new.csv"));
    char *text = tree_read(&s.tree, "old.csv");
    assert_string_equal(text, "a record\n"); /* nothing ran, so nothing was lost */
    free(text);
    sink_close(NULL, true);
    sample_remove(&s);
}

static void test_sink_a_run_replaces_the_record(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds");
    tree_write(&s.tree, "old.csv", "a record\n");
    struct sink *sink = sample_sink(&s, "old.csv");
    assert_int_equal(sink_begin(sink, &s.run), 0);
    sample_expect(&s, sink, "old.csv", "");
    sample_remove(&s);
}

static void test_sink_bad_paths(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = NULL;
    struct toll_error e = {0};
    struct toll_output out = {.size = sizeof out, .destination = "/no/such/place/run.csv"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, &e), -ENOENT);
    assert_non_null(strstr(e.message, "/no/such/place/run.csv"));
    char path[512];
    tree_write(&s.tree, "dir.csv/x", "");
    out.destination = tree_path(&s.tree, path, "dir.csv");
    assert_int_equal(sink_open(&sink, &out, &s.selection, &e), -EISDIR);
    assert_null(sink);
    sample_remove(&s);
}

static void test_sink_borrowed_descriptors_stay_open(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds");
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct sink *sink;
    struct toll_output out = {.size = sizeof out, .fd = ends[1], .format = "csv"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, NULL), 0);
    assert_int_equal(sink_begin(sink, &s.run), 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    sink_close(sink, true);
    assert_true(fcntl(ends[1], F_GETFD) >= 0);
    char text[256];
    assert_true(read(ends[0], text, sizeof text) > 0);
    close(ends[0]);
    close(ends[1]);
    sample_remove(&s);
}

static void test_sink_full_disk(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct sink *sink;
    struct toll_output out = {.size = sizeof out, .fd = full, .format = "csv"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, NULL), 0);
    assert_int_equal(sink_begin(sink, &s.run), 0);
    assert_int_equal(sink_frame(sink, &s.frame), -ENOSPC);
    assert_int_equal(sink_frame(sink, &s.frame), -ENOSPC);
    assert_int_equal(sink->dropped, 2);
    assert_int_equal(sink->chunks, 0);
    assert_int_equal(sink->failure, -ENOSPC);
    assert_int_equal(sink_note(sink, 0, "csv has no notes"), 0);
    sink_close(sink, false);
    close(full);
    sample_remove(&s);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* There is room for half a row: the file keeps whole ones, and goes on when there is room again. */
static void test_sink_half_a_chunk_is_cut_off(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds");
    static const char head[] = "time,elapsed_seconds,interval_seconds,target_cpu_seconds\n";
    static const char row[] = "2024-11-07T17:20:00.123Z,1.5,0.01,7\n";
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 7 * NS_PER_SECOND);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t room = 0; room < sizeof row - 1; room++) {
        struct sink *sink = sample_sink(&s, "x.csv");
        assert_int_equal(sink_begin(sink, &s.run), 0);
        assert_int_equal(sink_frame(sink, &s.frame), 0);
        limit_file_size(strlen(head) + strlen(row) + room);
        int r = sink_frame(sink, &s.frame);
        limit_file_size(RLIM_INFINITY);
        assert_int_equal(r, -EFBIG);
        assert_int_equal(sink->dropped, 1);
        assert_int_equal(sink->chunks, 2);
        char *text = tree_read(&s.tree, "x.csv");
        assert_int_equal(strlen(text), strlen(head) + strlen(row));
        free(text);
        assert_int_equal(sink_frame(sink, &s.frame), 0);
        sink->failure = 0;
        char whole[512];
        snprintf(whole, sizeof whole, "%s%s%s", head, row, row);
        sample_expect(&s, sink, "x.csv", whole);
    }
    signal(SIGXFSZ, SIG_DFL);
    sample_remove(&s);
}

/* A file that was only lent may have others' lines in it. */
static void test_sink_borrowed_files_are_not_cut(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds");
    char path[512];
    int fd = open(tree_path(&s.tree, path, "log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "line\n", 5), 5);
    struct sink *sink;
    struct toll_output out = {.size = sizeof out, .fd = fd, .format = "csv"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, NULL), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit_file_size(15);
    assert_int_equal(sink_begin(sink, &s.run), 0);
    assert_int_equal(sink_frame(sink, &s.frame), -EFBIG);
    limit_file_size(RLIM_INFINITY);
    signal(SIGXFSZ, SIG_DFL);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 15);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 15); /* no hole for the next line */
    sink_close(sink, false);
    close(fd);
    sample_remove(&s);
}

static void test_sink_no_memory_is_a_lost_chunk(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "x.csv");
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    sink->text.failed = true;
    assert_int_equal(sink_frame(sink, &s.frame), -ENOMEM);
    assert_int_equal(sink->dropped, 1);
    assert_int_equal(sink_frame(sink, &s.frame), 0); /* the next one is tried again */
    sink_close(sink, false);
    sample_remove(&s);
}

/* ---- sink options --------------------------------------------------------------------------- */

static const struct sink_option table[] = {
    {{"every", "TIME", "5s", ""}, OPTION_DURATION, false},
    {{"queue", "SIZE", "16MiB", ""}, OPTION_QUEUE, false},
    {{"room", "SIZE", "0", ""}, OPTION_SIZE, false},
    {{"name", "TEXT", "", ""}, OPTION_TEXT, false},
    {{"header", "TEXT", "", ""}, OPTION_TEXT, true},
    {{"mode", "no|yes", "no", ""}, OPTION_WORD, false},
    {.facts = {0}},
};

static void test_sink_options_values(void **state)
{
    struct sink_settings s;
    char *place = NULL;
    struct toll_error e = {0};
    assert_int_equal(sink_options_read(&s, &place, "x", table,
                                       "http://a/b,,c,every=250ms,queue=64K,name=a,,b"
                                       ",header=A: 1,header=B: 2,,3,mode=yes",
                                       &e),
                     0);
    assert_string_equal(place, "http://a/b,c");
    assert_int_equal(sink_options_u64(&s, "every"), 250000000);
    assert_int_equal(sink_options_u64(&s, "queue"), 65536);
    assert_string_equal(sink_options_text(&s, "name"), "a,b");
    assert_string_equal(sink_options_text(&s, "header"), "A: 1\nB: 2,3");
    assert_int_equal(sink_options_u64(&s, "mode"), 1);
    assert_true(sink_options_has(&s, "mode"));
    assert_int_equal(sink_options_u64(&s, "nothing"), 0);
    assert_null(sink_options_text(&s, "nothing"));
    sink_options_done(&s);
    free(place);
}

static void test_sink_options_defaults(void **state)
{
    struct sink_settings s;
    char *place = NULL;
    assert_int_equal(sink_options_read(&s, &place, "x", table, "", NULL), 0);
    assert_string_equal(place, "");
    assert_int_equal(sink_options_u64(&s, "every"), 5 * NS_PER_SECOND);
    assert_int_equal(sink_options_u64(&s, "queue"), 16 << 20);
    assert_null(sink_options_text(&s, "name"));
    assert_false(sink_options_has(&s, "every"));
    sink_options_done(&s);
    free(place);
    assert_int_equal(sink_options_take(&s, "x", table, ",every=1s", NULL), 0);
    assert_int_equal(sink_options_u64(&s, "every"), NS_PER_SECOND);
    sink_options_done(&s);
}

static void test_sink_options_mistakes(void **state)
{
    static const char *const bad[][2] = {
        {"p,evry=1s", "unknown option 'evry' (did you mean 'every'?); known options: every, queue"},
        {"p,every", "unknown option 'every'"}, /* without a value */
        {"p,secret=hunter2", "unknown option 'secret'"},
        {"p:half,hunter2@h", "x: expected \",name=value\"; known options: every"},
        {"p:half,hunter2@h=x", "expected \",name=value\""},
        {"p,every=soon", "x: invalid every 'soon' (expected a time such as 500ms"},
        {"p,queue=much", "a size of at least 4K, such as"},
        {"p,room=much", "a size such as 4096"},
        {"p,queue=0", "a size of at least 4K"},
        {"p,queue=4095", "a size of at least 4K"},
        {"p,name=", "not empty"},
        {"p,mode=maybe", "invalid mode 'maybe' (expected no|yes)"},
        {"p,every=1s,every=2s", "x: option every is given twice"},
        {"p,", NULL}, /* says nothing more */
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sink_settings s;
        char *place = NULL;
        struct toll_error e = {0};
        int r = sink_options_read(&s, &place, "x", table, bad[i][0], &e);
        assert_int_equal(r, bad[i][1] ? -EINVAL : 0);
        if (bad[i][1]) {
            assert_non_null(strstr(e.message, bad[i][1]));
            assert_null(strstr(e.message, "hunter2"));
            assert_null(place);
            continue;
        }
        sink_options_done(&s);
        free(place);
    }
}

static void test_sink_options_without_options_commas_are_commas(void **state)
{
    struct sink_settings s;
    char *place = NULL;
    assert_int_equal(sink_options_read(&s, &place, "csv", NULL, "a,b,,c=1.csv", NULL), 0);
    assert_string_equal(place, "a,b,,c=1.csv");
    sink_options_done(&s);
    free(place);
    assert_true(sink_options_begin_at(table, "every=1"));
    assert_false(sink_options_begin_at(table, "every"));
    assert_false(sink_options_begin_at(table, "ever=1"));
    assert_false(sink_options_begin_at(NULL, "every=1"));
}

/* ---- sink outcome --------------------------------------------------------------------------- */

static void test_sink_outcome_a_file(void **state)
{
    struct sample s;
    struct output_summary o;
    sample_make(&s, "target_cpu_seconds");
    struct sink *sink = sample_sink(&s, "run.csv");
    assert_int_equal(sink_begin(sink, &s.run), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_true(sink_outcome(sink, &o));
    assert_string_equal(o.name, sink->name);
    assert_string_equal(o.format, "csv");
    assert_int_equal(o.way, OUTPUT_FILE);
    assert_int_equal(o.samples, 3);
    assert_int_equal(o.delivered, 3);
    assert_true(o.is_whole && o.has_bytes);
    struct stat st;
    assert_int_equal(fstat(sink->fd, &st), 0);
    assert_int_equal(o.bytes, st.st_size);
    sink_close(sink, false);
    sample_remove(&s);
}

/* Nothing is to be told of a file that gets its summary when all is told. */
static void test_sink_outcome_a_summary_alone(void **state)
{
    struct sample s;
    struct output_summary o;
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "run.json");
    assert_false(sink_outcome(sink, &o));
    sink_close(sink, true);
    sample_remove(&s);
}

static void test_sink_outcome_a_full_disk(void **state)
{
    struct sample s;
    struct output_summary o;
    struct sink *sink = NULL;
    sample_make(&s, NULL);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct toll_output out = {.size = sizeof out, .fd = full, .format = "csv"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, NULL), 0);
    sink_begin(sink, &s.run);
    assert_int_equal(sink_frame(sink, &s.frame), -ENOSPC);
    assert_true(sink_outcome(sink, &o));
    assert_int_equal(o.way, OUTPUT_STREAM);
    assert_int_equal(o.samples, 1);
    assert_int_equal(o.delivered, 0);
    assert_int_equal(o.dropped, 1);
    assert_int_equal(o.bytes, 0);
    assert_false(o.is_whole);
    assert_string_equal(o.why, "No space left on device");
    sink_close(sink, false);
    close(full);
    sample_remove(&s);
}

/* What nobody came for was there all the same. */
static void test_sink_outcome_an_endpoint(void **state)
{
    struct sample s;
    struct output_summary o;
    struct sink *sink = NULL;
    sample_make(&s, NULL);
    struct toll_output out = {.size = sizeof out, .destination = "openmetrics::0"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, NULL), 0);
    assert_int_equal(sink_begin(sink, &s.run), 0);
    sink_frame(sink, &s.frame);
    assert_true(sink_outcome(sink, &o));
    assert_int_equal(o.way, OUTPUT_SCRAPED);
    assert_int_equal(o.samples, 1);
    assert_int_equal(o.delivered, 0);
    assert_int_equal(o.dropped, 0);
    assert_int_equal(o.scrapes, 0);
    assert_true(o.is_whole);
    sink_close(sink, false);
    sample_remove(&s);
}

/* With a sender: what it has counted, when it is done. */
static void test_sink_outcome_a_sender(void **state)
{
    struct sample s;
    struct output_summary o;
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "run.om");
    assert_int_equal(sink_begin(sink, &s.run), 0);
    sink_frame(sink, &s.frame);
    sink_summary(sink, &s.summary);
    sink_end(sink);
    assert_int_equal(sink_wait(sink, &o), 0);
    assert_int_equal(o.way, OUTPUT_FILE);
    assert_int_equal(o.samples, 1);
    assert_int_equal(o.delivered, 1);
    assert_true(o.has_bytes && o.bytes > 0 && o.is_whole);
    sink_close(sink, false);
    sample_remove(&s);
}

/* ---- run end -------------------------------------------------------------------------------- */

static void test_run_end_facts(void **state)
{
    static const struct {
        struct toll_end end;
        bool has_target;
        size_t targets;
        const char *name; /* of the second one */
    } cases[] = {
        {{.ended = true, .status = 3}, true, 0, "exit_code"},
        {{.ended = true, .signaled = true, .status = 9}, true, 0, "exit_signal"},
        {{.ended = true, .unknown = true}, true, 0, NULL},
        {{.ended = true, .status = 3}, true, 2, NULL}, /* of several there is no one status */
        {{.ended = false}, true, 0, NULL},
        {{.ended = true}, false, 0, NULL},
    };
    struct run run = {.start_real_ns = UINT64_C(1731000000123456789)};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct summary s = {.run = &run,
                            .elapsed_ns = 2000000000,
                            .has_target = cases[i].has_target,
                            .target_count = cases[i].targets};
        struct run_fact facts[RUN_FACTS_AT_MOST];
        struct run_end end;
        s.whole.end = cases[i].end;
        run_end_take(&end, &s);
        assert_int_equal(run_end_facts(&end, facts), cases[i].name ? 2 : 1);
        assert_string_equal(facts[0].name, "end_time_seconds");
        assert_true(run_fact_value(&facts[0]) == 1731000002.123);
        if (!cases[i].name)
            continue;
        assert_string_equal(facts[1].name, cases[i].name);
        assert_true(run_fact_value(&facts[1]) == cases[i].end.status);
    }
}

static void test_run_end_a_run_that_goes_on(void **state)
{
    struct run_fact facts[RUN_FACTS_AT_MOST];
    struct run_end end = {0};
    assert_int_equal(run_end_facts(&end, facts), 0);
}

/* When it ended is not known either: the last sample is no end. */
static void test_run_end_of_a_record_that_was_cut(void **state)
{
    struct run_fact facts[RUN_FACTS_AT_MOST];
    struct run run = {.start_real_ns = UINT64_C(1731000000123456789)};
    struct summary s = {.run = &run, .elapsed_ns = 2000000000, .has_target = true};
    struct run_end end;
    s.whole.end.unknown = true;
    run_end_take(&end, &s);
    assert_int_equal(run_end_facts(&end, facts), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sink_choose),
        cmocka_unit_test(test_sink_files_that_were_made_are_discarded),
        cmocka_unit_test(test_sink_a_run_replaces_the_record),
        cmocka_unit_test(test_sink_bad_paths),
        cmocka_unit_test(test_sink_borrowed_descriptors_stay_open),
        cmocka_unit_test(test_sink_full_disk),
        cmocka_unit_test(test_sink_half_a_chunk_is_cut_off),
        cmocka_unit_test(test_sink_borrowed_files_are_not_cut),
        cmocka_unit_test(test_sink_no_memory_is_a_lost_chunk),
        cmocka_unit_test(test_sink_options_values),
        cmocka_unit_test(test_sink_options_defaults),
        cmocka_unit_test(test_sink_options_mistakes),
        cmocka_unit_test(test_sink_options_without_options_commas_are_commas),
        cmocka_unit_test(test_sink_outcome_a_file),
        cmocka_unit_test(test_sink_outcome_a_summary_alone),
        cmocka_unit_test(test_sink_outcome_a_full_disk),
        cmocka_unit_test(test_sink_outcome_an_endpoint),
        cmocka_unit_test(test_sink_outcome_a_sender),
        cmocka_unit_test(test_run_end_facts),
        cmocka_unit_test(test_run_end_of_a_record_that_was_cut),
        cmocka_unit_test(test_run_end_a_run_that_goes_on),
    };
    return RUN("sink/sink", tests);
}
