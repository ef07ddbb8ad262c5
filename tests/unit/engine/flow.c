/* SPDX-License-Identifier: MIT
 * The way of a sample: read, folded, added to the summary, published. */
#include "engine/target/network.h"
#include "engine/target/reap.h"
#include "engine/target/targets.h"
#include "engine/target/walk.h"
#include "engine/tick.h"
#include "engine/tracker.h"
#include "proc_tree.h"
#include "unit.h"

#include <signal.h>

#define HEAD "start 1731000000\nhost box\nkernel 6.1\ncpus 8\ntracker 9\nmain 10\ncommand job\n"

/* ---- a recorded run ------------------------------------------------------------------------- */

static void put_look(const struct tree *tree, const char *look, unsigned long long user,
                     bool has_child)
{
    struct tree below;
    char text[256];
    snprintf(below.path, sizeof below.path, "%.40s/%.10s", tree->path, look);
    proc_stat(&below, &(struct proc_facts){
                          .pid = 10, .parent = 9, .user = user, .minor = 5, .rss_pages = 100});
    proc_io(&below, 10, "io", 100 * user, 10 * user);
    proc_children(&below, 10, 10, has_child ? "11 " : "");
    proc_write(&below, 10, "cgroup", "0::/job\n");
    if (has_child) {
        proc_stat(&below, &(struct proc_facts){.pid = 11, .parent = 10, .user = 7, .minor = 3});
        proc_io(&below, 11, "io", 1000, 100);
        proc_children(&below, 11, 11, "");
    }
    tree_write(&below, "proc/self/mountinfo",
               "24 18 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    tree_write(&below, "proc/self/cgroup", "0::/job\n");
    tree_write(&below, "proc/stat", "cpu 100 0 100 1000 0 0 0 0 0 0\n");
    tree_write(&below, "sys/fs/cgroup/job/cgroup.procs", "10\n");
    tree_write(&below, "sys/fs/cgroup/job/memory.max", "1000000\n");
    snprintf(text, sizeof text, "%llu\n", 1000 * user);
    tree_write(&below, "sys/fs/cgroup/job/memory.current", text);
    snprintf(text, sizeof text, "%llu\n", 1500 * user);
    tree_write(&below, "sys/fs/cgroup/job/memory.peak", text);
}

static void put_run(const struct tree *tree)
{
    tree_write(tree, "script",
               HEAD "system\ntick 0.010 t0\ntick 1.000 t1\ntick 2.000 t2\nlook 2.100 t3\n");
    put_look(tree, "t0", 10, true);
    put_look(tree, "t1", 60, true);
    put_look(tree, "t2", 90, false);
    put_look(tree, "t3", 95, false);
}

static struct toll_tracker *replay_open_run(const struct tree *tree, const char *output)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o, .processes = TOLL_PROCESSES_ALL};
    char path[512];
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    if (output) {
        struct toll_output out = {.size = sizeof out, .destination = tree_path(tree, path, output)};
        assert_int_equal(toll_tracker_add_output(t, &out, NULL), 0);
    }
    assert_int_equal(toll_tracker_replay(t, tree->path, NULL), 0);
    return t;
}

/* ---- polling -------------------------------------------------------------------------------- */

static char *run_and_report(const struct tree *tree, bool polls)
{
    static const char *const names[] = {"target_cpu_seconds", "target_memory_rss_bytes",
                                        "main_cpu_cores", "system_cpu_seconds"};
    struct toll_tracker *t = replay_open_run(tree, NULL);
    char *text = NULL;
    while (toll_tracker_step(t) > 0)
        for (size_t i = 0; polls && i < ARRAY_LEN(names); i++) {
            struct toll_figure f = {.size = sizeof f};
            assert_int_equal(toll_tracker_figure(t, names[i], &f), 0);
            assert_int_equal(toll_tracker_report(t, i % 2 ? "json" : "text", 0, &text, NULL), 0);
            free(text);
        }
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_int_equal(toll_tracker_report(t, "json", TOLL_OUTPUT_VERBOSE, &text, NULL), 0);
    toll_tracker_free(t);
    return text;
}

/* A cgroup whose peak was above every sample, the machine, and parts that are judged. */
static void test_polling_changes_nothing(void **state)
{
    struct tree tree;
    tree_make(&tree);
    put_run(&tree);
    char *alone = run_and_report(&tree, false), *polled = run_and_report(&tree, true);
    assert_non_null(strstr(alone, "\"/job\""));
    assert_string_equal(alone, polled);
    free(alone);
    free(polled);
    tree_remove(&tree);
}

/* A query judges copies: the series of a cgroup is what samples saw until the run is finished. */
static void test_polling_leaves_the_series(void **state)
{
    struct tree tree;
    tree_make(&tree);
    put_run(&tree);
    struct toll_tracker *t = replay_open_run(&tree, NULL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(toll_tracker_step(t), 1);
    const struct series *memory = NULL;
    for (size_t i = 0; i < t->summary.instance_count; i++)
        if (t->summary.instances[i].instance->entity.kind == ENTITY_CGROUP)
            memory = &t->summary.instances[i].series[cgroup_memory_bytes - cgroup_first];
    assert_non_null(memory);
    struct series before = *memory;
    static struct target_summary whole; /* with what is known of the quality of its figures */
    whole = t->summary.whole;
    struct toll_figure f = {.size = sizeof f};
    assert_int_equal(toll_tracker_figure(t, "target_cpu_seconds", &f), 0);
    assert_memory_equal(memory, &before, sizeof before);
    assert_memory_equal(&t->summary.whole, &whole, sizeof whole);
    assert_true(before.max == 60000);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_true(memory->max > 60000); /* the kernel's peak of this run */
    toll_tracker_free(t);
    tree_remove(&tree);
}

/* ---- frames --------------------------------------------------------------------------------- */

/* The last sample is too short for a rate: the summary has it, outputs have not, and the rows that
 * the summary was made of are not touched for that. */
static void test_frame_is_published_apart(void **state)
{
    struct tree tree;
    tree_make(&tree);
    put_run(&tree);
    struct toll_tracker *t = replay_open_run(&tree, NULL);
    while (toll_tracker_step(t) > 0)
        ;
    struct row before[PARTS];
    memcpy(before, t->tracked.whole->parts, sizeof before);
    const struct frame *shown = tick(t, TICK_LAST);
    const struct row *folded = &t->tracked.whole->parts[PART_COMBINED];
    assert_true(shown != &t->frame && shown->last && shown->interval_ns == 100 * NS_PER_MS);
    assert_true(row_has(folded, process_cpu_cores));
    assert_false(row_has(shown->target[PART_COMBINED].row, process_cpu_cores));
    assert_ptr_equal(t->frame.target[PART_COMBINED].row, folded);
    /* No counter of a part falls in samples. */
    for (unsigned part = 0; part < PARTS; part++)
        assert_true(row_u64(shown->target[part].row, process_cpu_seconds) >=
                    row_u64(&before[part], process_cpu_seconds));
    toll_tracker_free(t);
    tree_remove(&tree);
}

/* A sample that is due and long enough is published as it was built. */
static void test_frame_is_published_as_it_is(void **state)
{
    struct tree tree;
    tree_make(&tree);
    put_run(&tree);
    struct toll_tracker *t = replay_open_run(&tree, NULL);
    assert_int_equal(toll_tracker_step(t), 1);
    assert_ptr_equal(tick(t, TICK_DUE), &t->frame);
    toll_tracker_free(t);
    tree_remove(&tree);
}

/* ---- events --------------------------------------------------------------------------------- */

static size_t count_lines(const struct tree *tree, const char *name, const char *word)
{
    size_t count = 0;
    char *text = tree_read(tree, name);
    for (const char *at = text; (at = strstr(at, word)); at++)
        count++;
    free(text);
    return count;
}

/* A walk that finds a process gone queues its end; outputs get it when events are sent. */
static void test_reading_does_not_write(void **state)
{
    struct tree tree;
    tree_make(&tree);
    put_run(&tree);
    struct toll_tracker *t = replay_open_run(&tree, "x.jsonl");
    assert_int_equal(toll_tracker_step(t), 1);
    size_t notes = t->summary.note_count;
    char later[512];
    sysroot_close(&t->tracked.root);
    assert_int_equal(sysroot_open(&t->tracked.root, tree_path(&tree, later, "t2"), NULL), 0);
    walk(&t->tracked, t->frame.mono_ns + 2 * NS_PER_SECOND);
    assert_int_equal(t->tracked.members.count, 1);
    /* Its parent inherited nothing: a note says so before the end of the process. */
    assert_int_equal(t->tracked.events.count, 2);
    assert_non_null(strstr(t->tracked.events.items[0].note, "does not wait for its children"));
    assert_int_equal(t->tracked.events.items[1].process.entity.pid, 11);
    assert_int_equal(t->summary.note_count, notes);
    assert_int_equal(count_lines(&tree, "x.jsonl", "\"left\""), 0);
    outputs_send_events(&t->outputs, &t->tracked.events);
    assert_int_equal(t->tracked.events.count, 0);
    assert_int_equal(t->summary.note_count, notes + 1);
    assert_int_equal(count_lines(&tree, "x.jsonl", "\"left\""), 1);
    toll_tracker_free(t);
    tree_remove(&tree);
}

static void add_note(struct events *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    events_add_note(e, 5, format, args);
    va_end(args);
}

static void test_events_keep_their_order(void **state)
{
    struct events e = {0};
    struct process p = {.entity = {.pid = 7}};
    add_note(&e, "one %d", 1);
    events_add_end(&e, &(struct process_end){.process = &p, .how = LEFT_LOST, .elapsed_ns = 6},
                   true);
    p.entity.pid = 8; /* a copy was taken */
    for (int i = 0; i < 1000; i++)
        add_note(&e, "more");
    assert_int_equal(e.count, 1002);
    assert_string_equal(e.items[0].note, "one 1");
    assert_true(!e.items[1].note && e.items[1].process.entity.pid == 7);
    events_clear(&e);
    assert_true(e.count == 0 && e.capacity <= 256); /* a crowd is not remembered for ever */
    events_done(&e);
}

/* ---- better sources ------------------------------------------------------------------------- */

static struct row counted_by_cgroup(uint64_t cpu, uint64_t user, uint64_t system)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, cpu);
    row_put_u64(&row, process_cpu_user_seconds, user);
    row_put_u64(&row, process_cpu_system_seconds, system);
    return row;
}

/* Ticks of version 1 say how the CPU time is divided; user and system time make it up, and neither
 * falls however the ticks come. */
static void test_replaced_cpu_is_divided(void **state)
{
    uint64_t seed = 5;
    struct ledger l;
    struct row combined;
    ledger_init(&l, 1, false);
    uint64_t cpu = 0, user = 0, system = 0, user_before = 0, system_before = 0;
    for (int i = 0; i < 2000; i++) {
        uint64_t more = random_magnitude(&seed, 24);
        cpu += more;
        if (random_below(&seed, 2))
            user += more / 1000 * 1000;
        else
            system += more / 1000 * 1000;
        row_init(&combined, ENTITY_PROCESS);
        struct row better = counted_by_cgroup(cpu, user, system);
        ledger_replace(&l, &better, true, &combined);
        uint64_t now_user = row_u64(&combined, process_cpu_user_seconds);
        uint64_t now_system = row_u64(&combined, process_cpu_system_seconds);
        assert_int_equal(now_user + now_system, cpu);
        assert_true(now_user >= user_before && now_system >= system_before);
        user_before = now_user;
        system_before = now_system;
    }
}

static void test_replaced_as_it_is(void **state)
{
    struct ledger l;
    struct row combined, better = counted_by_cgroup(10, 6, 3);
    ledger_init(&l, 1, false);
    row_init(&combined, ENTITY_PROCESS);
    row_put_u64(&combined, process_faults_minor_count, 4);
    ledger_replace(&l, &better, false, &combined);
    assert_int_equal(row_u64(&combined, process_cpu_user_seconds), 6);
    assert_int_equal(row_u64(&combined, process_faults_minor_count), 4); /* not the cgroup's */
}

/* Targets in one namespace have its bytes once in their union; a namespace that is shared with
 * others spoils what was counted. */
static void test_network_of_a_union(void **state)
{
    struct toll_options options = {.network = true};
    struct target targets[3] = {{.bit = 1}, {.bit = 2}, {.bit = 4, .is_union = true}};
    struct tracked t = {
        .options = &options, .targets = targets, .target_count = 2, .whole = &targets[2]};
    struct network n = {0};
    struct row row;
    for (int i = 0; i < 2; i++)
        targets[i].namespace = (struct namespace_bytes){
            .known = true, .number = 7, .received = 100, .sent = 10};
    row_init(&row, ENTITY_PROCESS);
    network_count(&n, &t, &targets[0], &row);
    assert_int_equal(row_u64(&row, process_network_received_bytes), 100);
    row_init(&row, ENTITY_PROCESS);
    network_count(&n, &t, &targets[2], &row);
    assert_int_equal(row_u64(&row, process_network_received_bytes), 100);
    targets[1].namespace.number = 8;
    network_count(&n, &t, &targets[2], &row);
    assert_int_equal(row_u64(&row, process_network_sent_bytes), 20);
    assert_int_equal(network_quality(&t, &targets[0]).quality, QUALITY_EXACT);
    targets[0].namespace.is_partial = true;
    assert_int_equal(network_quality(&t, &targets[0]).quality, QUALITY_LOWER_BOUND);
    targets[1].namespace.is_shared = true;
    targets[1].namespace.known = false;
    row_init(&row, ENTITY_PROCESS);
    network_count(&n, &t, &targets[2], &row);
    assert_int_equal(row.present, 0);
    assert_int_equal(network_quality(&t, &targets[2]).quality, QUALITY_UNKNOWN);
}

/* ---- reaping -------------------------------------------------------------------------------- */

/* Also where the kernel does not say which child has ended before it is reaped. */
static void test_reap_with_and_without_waitid(void **state)
{
    char sh[] = "/bin/sh", option[] = "-c", script[] = "(sleep 0.05) & wait; exit 7";
    char *argv[] = {sh, option, script, NULL};
    for (int no_waitid = 0; no_waitid < 2; no_waitid++) {
        struct toll_tracker *t = NULL;
        struct toll_options o = {.size = sizeof o};
        struct toll_end end = {.size = sizeof end};
        assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
        t->tracked.reaper.no_waitid = no_waitid;
        assert_int_equal(toll_tracker_launch(t, argv, NULL, NULL), 0);
        for (int i = 0; i < 1000 && toll_tracker_step(t) > 0; i++)
            usleep(10000);
        assert_true(t->tracked.reaper.main_reaped && t->tracked.reaper.no_children_left);
        assert_true(row_has(&t->tracked.whole->ledger.reaped, process_cpu_seconds));
        assert_int_equal(toll_tracker_finish(t, &end), 0);
        assert_true(end.ended && !end.signaled && end.status == 7);
        toll_tracker_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polling_changes_nothing),
        cmocka_unit_test(test_polling_leaves_the_series),
        cmocka_unit_test(test_frame_is_published_apart),
        cmocka_unit_test(test_frame_is_published_as_it_is),
        cmocka_unit_test(test_reading_does_not_write),
        cmocka_unit_test(test_events_keep_their_order),
        cmocka_unit_test(test_replaced_cpu_is_divided),
        cmocka_unit_test(test_replaced_as_it_is),
        cmocka_unit_test(test_network_of_a_union),
        cmocka_unit_test(test_reap_with_and_without_waitid),
    };
    return RUN("engine/flow", tests);
}
