/* SPDX-License-Identifier: MIT */
#include "sink/openmetrics/openmetrics.h"

#include "sample.h"

static void add_frames(struct sample *s, struct points *p, struct om_file *f, unsigned count)
{
    struct buf chunk = {0};
    for (unsigned i = 0; i < count; i++) {
        buf_clear(&chunk);
        row_put_u64(&s->parts[PART_COMBINED], process_cpu_seconds, i * 1000000000ULL);
        row_put_u64(&s->parts[PART_MAIN], process_cpu_seconds, i * 500000000ULL);
        if (i) /* one that comes later */
            row_put_u64(&s->parts[PART_MAIN], process_threads_count, i);
        points_add(p, &s->run, &s->selection, &s->frame, &chunk);
        assert_int_equal(om_file_add(f, chunk.data, chunk.length), 0);
        s->frame.real_ns += NS_PER_SECOND;
    }
    buf_done(&chunk);
}

#define LABELS "{instance=\"box\",run=\"make\",scope=\""
#define CPU                                                                                        \
    "# TYPE toll_target_cpu_seconds counter\n# UNIT toll_target_cpu_seconds seconds\n"             \
    "# HELP toll_target_cpu_seconds CPU time in user and system mode together\n"
#define THREADS "# TYPE toll_target_threads gauge\n# HELP toll_target_threads Threads\n"
#define TOTAL   "toll_target_cpu_seconds_total" LABELS "combined\"} "
#define MAIN    "toll_target_cpu_seconds_total" LABELS "main\"} "
#define MANY    "toll_target_threads" LABELS "main\"} "

static const char in_order[] = CPU TOTAL
    "0 1731000000.123\n" TOTAL "1 1731000001.123\n" TOTAL "2 1731000002.123\n" MAIN
    "0 1731000000.123\n" MAIN "0.5 1731000001.123\n" MAIN "1 1731000002.123\n" THREADS MANY
    "1 1731000001.123\n" MANY "2 1731000002.123\n# EOF\n";
static const char as_they_came[] = CPU TOTAL
    "0 1731000000.123\n" MAIN "0 1731000000.123\n" TOTAL "1 1731000001.123\n" MAIN
    "0.5 1731000001.123\n" THREADS MANY "1 1731000001.123\n" TOTAL "2 1731000002.123\n" MAIN
    "1 1731000002.123\n" MANY "2 1731000002.123\n# EOF\n";

static void check(size_t points_at_once, bool is_replaced, const char *expected)
{
    struct sample s;
    struct points p;
    struct om_file f;
    char path[512];
    sample_make(&s, "cpu_seconds,threads");
    s.selection.of[ENTITY_SELF] = 0;
    tree_write(&s.tree, "run.om", "");
    tree_path(&s.tree, path, "run.om");
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    points_init(&p);
    om_file_init(&f, &p, fd, is_replaced ? path : NULL);
    f.points_at_once = points_at_once;
    add_frames(&s, &p, &f, 3);
    assert_int_equal(om_file_finish(&f), 0);
    char *text = tree_read(&s.tree, "run.om");
    assert_string_equal(text, expected);
    free(text);
    assert_false(tree_has(&s.tree, "run.om.order"));
    om_file_done(&f);
    points_done(&p);
    close(fd);
    sample_remove(&s);
}

static void test_in_order(void **state)
{
    check(0, true, in_order);
    check(1, true, in_order); /* a series at a time */
    check(4, true, in_order);
}

static void test_what_cannot_be_replaced(void **state)
{
    check(0, false, as_they_came);
}

static void test_a_full_disk(void **state)
{
    struct sample s;
    struct points p;
    struct om_file f;
    struct buf chunk = {0};
    sample_make(&s, NULL);
    points_init(&p);
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    om_file_init(&f, &p, fd, "/dev/full");
    row_put_u64(&s.parts[PART_MAIN], process_cpu_seconds, 1);
    points_add(&p, &s.run, &s.selection, &s.frame, &chunk);
    assert_int_equal(om_file_add(&f, chunk.data, chunk.length), -ENOSPC);
    assert_int_equal(om_file_finish(&f), -ENOSPC);
    om_file_done(&f);
    points_done(&p);
    close(fd);
    buf_done(&chunk);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_what_cannot_be_replaced),
        cmocka_unit_test(test_a_full_disk),
    };
    return RUN("om_file", tests);
}
