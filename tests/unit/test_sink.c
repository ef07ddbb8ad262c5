/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"

#include "sample.h"

#include <signal.h>
#include <sys/resource.h>

static void test_choose(void **state)
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
    static const char *const bad[] = {"run", "run.xyz", ".csv",     "run.csv.gz",
                                      "csv", "",        "xcsv:run", "prometheus"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        kind = NULL;
        assert_int_equal(sink_choose(NULL, bad[i], &kind, &rest, &e), -EINVAL);
        assert_null(kind);
        assert_non_null(strstr(e.message, ".jsonl"));
    }
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

static void test_files_that_were_made_are_discarded(void **state)
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

static void test_a_run_replaces_the_record(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds");
    tree_write(&s.tree, "old.csv", "a record\n");
    struct sink *sink = sample_sink(&s, "old.csv");
    assert_int_equal(sink_begin(sink, &s.run), 0);
    sample_expect(&s, sink, "old.csv", "");
    sample_remove(&s);
}

static void test_bad_paths(void **state)
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

static void test_borrowed_descriptors_stay_open(void **state)
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

static void test_full_disk(void **state)
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
static void test_half_a_chunk_is_cut_off(void **state)
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
static void test_borrowed_files_are_not_cut(void **state)
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

static void test_no_memory_is_a_lost_chunk(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_files_that_were_made_are_discarded),
        cmocka_unit_test(test_a_run_replaces_the_record),
        cmocka_unit_test(test_bad_paths),
        cmocka_unit_test(test_borrowed_descriptors_stay_open),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_half_a_chunk_is_cut_off),
        cmocka_unit_test(test_borrowed_files_are_not_cut),
        cmocka_unit_test(test_no_memory_is_a_lost_chunk),
    };
    return RUN("sink", tests);
}
