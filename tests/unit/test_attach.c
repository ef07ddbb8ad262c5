/* SPDX-License-Identifier: MIT
 * Attaching, on recorded machines. */
#include "engine/begin.h"

#include "proc_tree.h"

#include "engine/tracker.h"

#define HEAD "start 1731000000\nhost box\nkernel 6.1\ncpus 8\n"

static void put_process(const struct tree *tree, const char *sample, const struct proc_facts *f,
                        const char *children)
{
    struct tree below;
    snprintf(below.path, sizeof below.path, "%.40s/%.10s", tree->path, sample);
    tree_write(&below, "proc/uptime", "100.00 1.00\n");
    proc_stat(&below, f);
    proc_io(&below, f->pid, "io", 100 * f->user, 10 * f->user);
    proc_children(&below, f->pid, f->pid, children);
}

static struct toll_tracker *open_run(const struct tree *tree, const char *script, bool since_start,
                                     struct toll_error *e, int *ret)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o, .since_start = since_start};
    tree_write(tree, "script", script);
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    *ret = toll_tracker_replay(t, tree->path, e);
    return t;
}

static void test_counts_from_then_on(void **state)
{
    struct tree tree;
    tree_make(&tree);
    put_process(&tree, "t0", &(struct proc_facts){.pid = 10, .parent = 1, .user = 50}, "11 ");
    put_process(&tree, "t0", &(struct proc_facts){.pid = 11, .parent = 10, .user = 20}, "");
    put_process(&tree, "t1", &(struct proc_facts){.pid = 10, .parent = 1, .user = 53}, "11 12 ");
    put_process(&tree, "t1", &(struct proc_facts){.pid = 11, .parent = 10, .user = 24}, "");
    put_process(&tree, "t1",
                &(struct proc_facts){.pid = 12, .parent = 10, .user = 5, .start = 10010}, "");
    for (int since_start = 0; since_start < 2; since_start++) {
        int r;
        struct toll_tracker *t = open_run(&tree, HEAD "target process 10\nattach t0\ntick 0.5 t1\n",
                                          since_start, NULL, &r);
        assert_int_equal(r, 0);
        assert_int_equal(toll_tracker_step(t), 1);
        const struct row *all = &t->whole->parts[PART_COMBINED];
        /* The third was born since. */
        uint64_t ticks = since_start ? 53 + 24 + 5 : 3 + 4 + 5;
        assert_value(all, process_cpu_seconds, ticks * 10 * NS_PER_MS);
        assert_value(all, process_io_read_bytes, ticks * 100);
        assert_value(all, process_processes_count, 3);
        toll_tracker_free(t);
    }
    tree_remove(&tree);
}

static void test_nobody_there(void **state)
{
    static const struct {
        const char *target, *words;
    } cases[] = {
        {"process 99", "no process 99"}, {"group 99", "group 99"},
        {"session 99", "session 99"},    {"match nothing", "'nothing'"},
        {"process 10", "ended already"},
    };
    struct tree tree;
    tree_make(&tree);
    put_process(&tree, "t0", &(struct proc_facts){.pid = 10, .parent = 1, .state = 'Z'}, "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char script[256];
        struct toll_error e = {0};
        int r;
        snprintf(script, sizeof script, HEAD "target %s\nattach t0\ntick 0.5 t0\n",
                 cases[i].target);
        struct toll_tracker *t = open_run(&tree, script, false, &e, &r);
        assert_int_equal(r, -ESRCH);
        if (!strstr(e.message, cases[i].words))
            fail_msg("%s: %s", cases[i].target, e.message);
        toll_tracker_free(t);
    }
    tree_remove(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_from_then_on),
        cmocka_unit_test(test_nobody_there),
    };
    return RUN("attach", tests);
}
