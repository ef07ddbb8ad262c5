/* SPDX-License-Identifier: MIT */
#include "engine/compat/replay.h"

#include "proc_tree.h"

#include "engine/tracker.h"

static struct toll_tracker *make(void)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o, .processes = TOLL_PROCESSES_ALL};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    return t;
}

/* The files of one sample. */
static void put_process(const struct tree *tree, const char *sample, const struct proc_facts *f,
                        const char *children)
{
    struct tree below;
    snprintf(below.path, sizeof below.path, "%.40s/%.10s", tree->path, sample);
    proc_stat(&below, f);
    proc_io(&below, f->pid, "io", 100 * f->user, 10 * f->user);
    proc_children(&below, f->pid, f->pid, children);
}

#define HEAD                                                                                       \
    "start 1731000000\nhost box\nkernel 4.9\ncpus 8\ncommand make -j2\ntracker 9\nmain 10\n"

/* A child is born, works, and is reaped by its parent; then the parent ends. */
static void test_a_life(void **state)
{
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "script",
               HEAD "# a comment\n\ntick 0.010 t0\ntick 0.020 t1\ntick 0.500 t2\n"
                    "reaped 10 exit 3\nusage 0.5 0.25 900 2 30 4 20480\n"
                    "io 4096 8192 10 20 0 4096 0\ntick 1.000 t3\n");
    put_process(&tree, "t0",
                &(struct proc_facts){.pid = 10, .parent = 9, .user = 1, .rss_pages = 10}, "");
    put_process(&tree, "t1",
                &(struct proc_facts){.pid = 10, .parent = 9, .user = 2, .rss_pages = 10}, "11 ");
    put_process(&tree, "t1",
                &(struct proc_facts){.pid = 11, .parent = 10, .user = 30, .rss_pages = 5}, "");
    put_process(&tree, "t2",
                &(struct proc_facts){
                    .pid = 10, .parent = 9, .user = 3, .children_user = 40, .rss_pages = 10},
                "");
    tree_write(&tree, "t3/proc/version", "");
    struct toll_tracker *t = make();
    struct toll_error e = {0};
    assert_int_equal(toll_tracker_replay(t, tree.path, &e), 0);
    assert_string_equal(t->run.host, "box");
    assert_int_equal(t->run.cpus, 8);
    assert_string_equal(t->run.name, "make");
    const struct row *all = &t->whole->parts[PART_COMBINED];

    assert_int_equal(toll_tracker_step(t), 1);
    assert_value(all, process_cpu_seconds, 10 * NS_PER_MS);
    assert_value(all, process_processes_count, 1);
    assert_int_equal(t->frame.elapsed_ns, 10 * NS_PER_MS);

    assert_int_equal(toll_tracker_step(t), 1);
    assert_value(all, process_cpu_seconds, 320 * NS_PER_MS);
    assert_value(all, process_processes_count, 2);
    assert_value(all, process_memory_rss_bytes, 15 * 4096);
    assert_value(&t->whole->parts[PART_MAIN], process_cpu_seconds, 20 * NS_PER_MS);
    assert_value(&t->whole->parts[PART_DESCENDANTS], process_cpu_seconds, 300 * NS_PER_MS);
    assert_int_equal(t->frame.interval_ns, 10 * NS_PER_MS);

    assert_int_equal(toll_tracker_step(t), 1);
    assert_value(all, process_cpu_seconds, 430 * NS_PER_MS);
    assert_value(all, process_processes_started_count, 2);

    assert_int_equal(toll_tracker_step(t), 1);
    assert_value(all, process_cpu_seconds, 750 * NS_PER_MS); /* as wait4 said */
    assert_value(all, process_io_written_bytes, 8192);
    assert_unknown(all, process_memory_rss_bytes);
    assert_int_equal(toll_tracker_step(t), 0);
    struct toll_end end = {.size = sizeof end};
    assert_int_equal(toll_tracker_finish(t, &end), 0);
    assert_true(end.ended);
    assert_int_equal(end.status, 3);
    assert_false(t->whole->ledger.losing);
    toll_tracker_free(t);
    tree_remove(&tree);
}

static int open_script(const struct tree *tree, const char *script, struct toll_error *e)
{
    tree_write(tree, "script", script);
    struct toll_tracker *t = make();
    int r = toll_tracker_replay(t, tree->path, e);
    for (int steps = 0; r >= 0 && steps < 20; steps++) {
        r = toll_tracker_step(t);
        if (r == 0)
            break;
    }
    if (t->started)
        toll_tracker_finish(t, NULL);
    toll_tracker_free(t);
    return r;
}

static void test_bad_scripts(void **state)
{
    static const char *const bad[] = {
        "",
        "\n\n",
        HEAD,                     /* no sample */
        "tick 0.01 t0\n",         /* no main process */
        "main 0\ntick 0.01 t0\n", /* which is not one */
        "main x\ntick 0.01 t0\n",
        "main 4294967296\ntick 0.01 t0\n",
        "start\n" HEAD "tick 0.01 t0\n",
        "nonsense 5\n" HEAD "tick 0.01 t0\n",
        "reaped 10 exit 0\n" HEAD "tick 0.01 t0\n", /* before anything was seen */
        "usage 1 1 1 1 1 1 1\n" HEAD "tick 0.01 t0\n",
        HEAD "tick 0.01\n",
        HEAD "tick t0\n",
        HEAD "tick 0.01 no-such-sample\n",
        HEAD "tick 0.02 t0\ntick 0.01 t0\n", /* time runs forward */
        HEAD "tick 0.01 t0\nreaped\n",
        HEAD "tick 0.01 t0\nreaped 10\n",
        HEAD "tick 0.01 t0\nreaped 10 exit\n",
        HEAD "tick 0.01 t0\nreaped 99999999999 exit 0\n",
        HEAD "tick 0.01 t0\nusage 1 2 3\n",
        HEAD "tick 0.01 t0\nusage 1e99 2 3 4 5 6 7\n",
        HEAD "tick 0.01 t0\nio 1 2 3\n",
        HEAD "tick 0.01 t0\nnonsense\n",
    };
    struct tree tree;
    tree_make(&tree);
    put_process(&tree, "t0", &(struct proc_facts){.pid = 10, .parent = 9}, "");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct toll_error e = {0};
        if (open_script(&tree, bad[i], &e) >= 0)
            fail_msg("accepted: %s", bad[i]);
    }
    tree_unlink(&tree, "script");
    struct toll_tracker *t = make();
    struct toll_error e = {0};
    assert_int_equal(toll_tracker_replay(t, tree.path, &e), -ENOENT);
    assert_non_null(strstr(e.message, "script"));
    toll_tracker_free(t);
    tree_remove(&tree);
}

/* Strange, but nothing to break over. */
static void test_odd_scripts(void **state)
{
    static const char *const odd[] = {
        HEAD "tick 0 t0\n",
        HEAD "tick 0.01 t0\nreaped 10 signal 9\nreaped 10 exit 0\ntick 0.02 t0\n", /* twice */
        HEAD "tick 0.01 t0\nreaped 77 exit 0\ntick 0.02 t0\n",                     /* nobody */
        HEAD "tick 0.01 t0\nreaped 0 exit 0\ntick 0.02 t0\n",
        HEAD "tick 0.01 t0\nusage 0 0 0 0 0 0 0\nio 0 0 0 0 0 0 0\ntick 0.01 t0\n",
        HEAD "tick 0.01 empty\ntick 0.02 empty\n", /* it was gone before it was seen */
        HEAD "tick 0.01 t0",                       /* no newline at the end */
    };
    struct tree tree;
    tree_make(&tree);
    put_process(&tree, "t0", &(struct proc_facts){.pid = 10, .parent = 9}, "0 10 11 10 ");
    tree_write(&tree, "empty/proc/version", "");
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        struct toll_error e = {0};
        (void)open_script(&tree, odd[i], &e);
    }
    tree_remove(&tree);
}

#define LIMITS(cpu)                                                                                \
    "Limit                     Soft Limit           Hard Limit           Units     \n"             \
    "Max cpu time              " cpu "                   " cpu "                   seconds   \n"

/* The number of a command that was reaped goes to somebody else, in another cgroup and with other
 * limits: these are not the command's. */
static void test_limits_of_a_stranger(void **state)
{
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "script",
               HEAD "tick 0.010 t0\nreaped 10 exit 0\nusage 0.5 0.25 9 2 3 4 2048\n"
                    "tick 2.000 t1\n");
    const struct proc_facts ours = {.pid = 10, .parent = 9}, theirs = {.pid = 10, .parent = 1};
    put_process(&tree, "t0", &ours, "");
    tree_write(&tree, "t0/proc/10/cgroup", "0::/ours\n");
    tree_write(&tree, "t0/proc/10/limits", LIMITS("50"));
    put_process(&tree, "t1", &theirs, "");
    tree_write(&tree, "t1/proc/10/cgroup", "0::/theirs\n");
    tree_write(&tree, "t1/proc/10/limits", LIMITS("60"));
    struct toll_tracker *t = make();
    assert_int_equal(toll_tracker_replay(t, tree.path, NULL), 0);
    while (toll_tracker_step(t) > 0)
        ;
    toll_tracker_finish(t, NULL);
    assert_int_equal(t->summary.whole.limits.of[LIMIT_CPU_SECONDS].value, 50);
    toll_tracker_free(t);
    tree_remove(&tree);
}

/* The command is killed while the counter of its cgroup grows. */
static bool is_called_oom(const char *left_in_cgroup)
{
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "script",
               HEAD "tick 0.010 t0\nreaped 10 signal 9\nusage 0.5 0.25 9 2 3 4 2048\n"
                    "tick 2.000 t1\n");
    const struct proc_facts toll = {.pid = 9, .parent = 8}, shell = {.pid = 8, .parent = 1};
    const struct proc_facts main = {.pid = 10, .parent = 9}, other = {.pid = 77, .parent = 1};
    static const char *const samples[] = {"t0", "t1"};
    for (unsigned i = 0; i < 2; i++) {
        char path[64];
        put_process(&tree, samples[i], &toll, i ? "" : "10 ");
        put_process(&tree, samples[i], &shell, "9 ");
        put_process(&tree, samples[i], i ? &other : &main, "");
        for (unsigned pid = 0; pid < 2; pid++) {
            snprintf(path, sizeof path, "%s/proc/%s/mountinfo", samples[i], pid ? "10" : "self");
            tree_write(&tree, path,
                       "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
        }
        snprintf(path, sizeof path, "%s/proc/self/cgroup", samples[i]);
        tree_write(&tree, path, "0::/pod\n");
        snprintf(path, sizeof path, "%s/sys/fs/cgroup/pod/memory.events", samples[i]);
        tree_write(&tree, path, i ? "oom 1\noom_kill 1\n" : "oom 0\noom_kill 0\n");
        snprintf(path, sizeof path, "%s/sys/fs/cgroup/pod/cgroup.procs", samples[i]);
        tree_write(&tree, path, i ? left_in_cgroup : "8\n9\n10\n");
        snprintf(path, sizeof path, "%s/sys/fs/cgroup/cgroup.controllers", samples[i]);
        tree_write(&tree, path, "memory\n");
    }
    tree_write(&tree, "t0/proc/10/cgroup", "0::/pod\n");
    struct toll_tracker *t = make();
    assert_int_equal(toll_tracker_replay(t, tree.path, NULL), 0);
    while (toll_tracker_step(t) > 0)
        ;
    toll_tracker_finish(t, NULL);
    assert_true(t->summary.whole.end.signaled);
    bool oom = t->summary.whole.end.oom_killed;
    toll_tracker_free(t);
    tree_remove(&tree);
    return oom;
}

/* A recorded machine has no kernel log, like a container. */
static void test_who_ran_out_of_memory(void **state)
{
    assert_true(is_called_oom("8\n9\n"));
    assert_false(is_called_oom("8\n9\n77\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_life),
        cmocka_unit_test(test_who_ran_out_of_memory),
        cmocka_unit_test(test_limits_of_a_stranger),
        cmocka_unit_test(test_bad_scripts),
        cmocka_unit_test(test_odd_scripts),
    };
    return RUN("replay", tests);
}
