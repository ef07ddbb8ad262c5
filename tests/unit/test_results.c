/* SPDX-License-Identifier: MIT */
#include "base/util.h"
#include "proc_tree.h"
#include "toll.h"

#include <math.h>

static struct toll_tracker *attach(bool system, size_t targets)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o, .system = system, .interval_ns = 2 * NS_PER_MS};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    struct toll_target target = {.size = sizeof target, .id = getppid(), .name = "above"};
    for (size_t i = 0; i < targets; i++, target.name = "again")
        assert_int_equal(toll_tracker_add_target(t, &target, NULL), 0);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    for (unsigned i = 0; i < 5; i++) {
        usleep(4000);
        assert_int_equal(toll_tracker_step(t), 1);
    }
    return t;
}

static int ask(struct toll_tracker *t, const char *name, struct toll_figure *f)
{
    *f = (struct toll_figure){.size = sizeof *f};
    return toll_tracker_figure(t, name, f);
}

static void test_figures(void **state)
{
    struct toll_figure f;
    struct toll_tracker *t = attach(true, 2);
    assert_int_equal(ask(t, "target_cpu_seconds", &f), 0);
    assert_true(f.total >= 0 && isnan(f.last) && *f.quality && *f.from);
    assert_int_equal(ask(t, "target.again.memory_rss_bytes", &f), 0);
    assert_true(f.last > 0 && isnan(f.total) && f.max >= f.min && f.mean > 0);
    assert_int_equal(ask(t, "system_memory_used_bytes", &f), 0);
    assert_true(f.last > 0);
    assert_string_equal(f.quality, "sampled");
    assert_int_equal(ask(t, "self_cpu_seconds", &f), 0);
    assert_true(f.total > 0);
    assert_int_equal(ask(t, "target_network_sent_bytes", &f), 0); /* was not asked for */
    assert_string_equal(f.quality, "unknown");
    assert_true(isnan(f.total));
    assert_int_equal(ask(t, "target_no_such_thing", &f), -ENOENT);
    assert_int_equal(ask(t, "", &f), -ENOENT);
    assert_int_equal(toll_tracker_figure(t, NULL, &f), -EINVAL);
    f.size = 0;
    assert_int_equal(toll_tracker_figure(t, "target_cpu_seconds", &f), -EINVAL);
    toll_tracker_finish(t, NULL);
    assert_int_equal(ask(t, "target_cpu_seconds", &f), 0);
    toll_tracker_free(t);
}

/* A program that was built against a smaller struct. */
static void test_a_smaller_struct(void **state)
{
    struct toll_figure f;
    struct toll_tracker *t = attach(false, 1);
    memset(&f, 0xAA, sizeof f);
    f.size = offsetof(struct toll_figure, min);
    assert_int_equal(toll_tracker_figure(t, "target_memory_rss_bytes", &f), 0);
    assert_int_equal(f.size, offsetof(struct toll_figure, min));
    assert_true(f.last > 0);
    unsigned char after[sizeof(double)];
    memcpy(after, &f.min, sizeof after);
    assert_int_equal(after[0], 0xAA);
    toll_tracker_free(t);
}

static void test_reports(void **state)
{
    char *text = NULL;
    struct toll_error e;
    struct toll_tracker *t = attach(false, 1);
    assert_int_equal(toll_tracker_report(t, "json", 0, &text, &e), 0);
    assert_non_null(strstr(text, "\"schema\": \"toll.summary/1\""));
    free(text);
    assert_int_equal(toll_tracker_report(t, "text", 0, &text, &e), 0);
    assert_non_null(strstr(text, "measured for"));
    free(text);
    assert_int_equal(toll_tracker_report(t, "csv", 0, &text, &e), -EINVAL);
    assert_non_null(strstr(e.message, "csv"));
    assert_int_equal(toll_tracker_report(t, "bread", 0, &text, &e), -EINVAL);
    assert_int_equal(toll_tracker_report(t, NULL, 0, &text, &e), -EINVAL);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_int_equal(toll_tracker_report(t, "text", 0, &text, &e), 0);
    free(text);
    toll_tracker_free(t);
}

/* Two processes of much memory: their page tables are read only after half a second. */
static void put_large_job(const struct tree *tree)
{
    tree_write(tree, "script",
               "start 1731000000\nhost box\nkernel 6.1\ncpus 2\ncommand job\ntracker 9\nmain 10\n"
               "tick 0.001 t0\ntick 0.002 t0\ntick 1.000 t0\ntick 2.000 t0\ntick 3.000 t0\n");
    struct tree below;
    snprintf(below.path, sizeof below.path, "%.40s/t0", tree->path);
    for (int pid = 10; pid <= 11; pid++) {
        proc_stat(&below, &(struct proc_facts){.pid = pid,
                                               .parent = pid - 1,
                                               .user = 5,
                                               .virtual_bytes = 1 << 30,
                                               .rss_pages = 100000});
        proc_io(&below, pid, "io", 100, 10);
        proc_children(&below, pid, pid, pid == 10 ? "11 " : "");
        proc_write(&below, pid, "smaps_rollup",
                   "00400000-7ff 0 [rollup]\nRss: 400000 kB\nPss: 300000 kB\n"
                   "Private_Clean: 0 kB\nPrivate_Dirty: 200000 kB\n");
    }
}

static char *replay_and_report(const char *directory, bool asks_between)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    struct toll_figure f;
    char *text = NULL;
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_tracker_replay(t, directory, NULL), 0);
    while (toll_tracker_step(t) > 0) {
        if (!asks_between)
            continue;
        assert_int_equal(ask(t, "target_memory_distinct_bytes", &f), 0);
        assert_int_equal(toll_tracker_report(t, "text", 0, &text, NULL), 0);
        free(text);
    }
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_int_equal(toll_tracker_report(t, "json", 0, &text, NULL), 0);
    toll_tracker_free(t);
    return text;
}

/* Whether or not a program asks meanwhile, the summary is the same to the byte. */
static void test_asking_changes_nothing(void **state)
{
    struct tree tree;
    tree_make(&tree);
    put_large_job(&tree);
    char *alone = replay_and_report(tree.path, false);
    char *asked = replay_and_report(tree.path, true);
    assert_string_equal(alone, asked);
    const char *once = strstr(alone, "\"memory_distinct_bytes\"");
    assert_non_null(once);
    const char *median = strstr(once, "\"p50\"");
    assert_true(median && median < strchr(once, '}'));
    free(alone);
    free(asked);
    tree_remove(&tree);
}

/* A program that goes on when measuring could not begin. */
static void test_no_tracker(void **state)
{
    struct toll_figure f;
    struct toll_frame *frame;
    struct toll_error e;
    char *text;
    assert_int_equal(ask(NULL, "target_cpu_seconds", &f), -ESRCH);
    assert_int_equal(toll_tracker_report(NULL, "json", 0, &text, &e), -ESRCH);
    assert_string_equal(e.message, "there is no tracker");
    assert_int_equal(toll_tracker_frame(NULL, &frame), -ESRCH);
    assert_int_equal(toll_tracker_next_frame(NULL, 0, &frame), -ESRCH);
    assert_int_equal(toll_tracker_wait(NULL, 0), -ESRCH);
    assert_int_equal(toll_tracker_add_target(NULL, NULL, &e), -ESRCH);
    assert_int_equal(toll_tracker_start(NULL, &e), -ESRCH);
    assert_int_equal(toll_tracker_step(NULL), -ESRCH);
    assert_int_equal(toll_tracker_finish(NULL, NULL), -ESRCH);
    assert_int_equal(toll_tracker_fd(NULL), -1);
    assert_int_equal(toll_tracker_pid(NULL), 0);
    assert_false(toll_tracker_contains(NULL, 1));
    toll_tracker_hurry(NULL);
    toll_tracker_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),    cmocka_unit_test(test_a_smaller_struct),
        cmocka_unit_test(test_reports),    cmocka_unit_test(test_asking_changes_nothing),
        cmocka_unit_test(test_no_tracker),
    };
    return RUN("results", tests);
}
