/* SPDX-License-Identifier: MIT
 * What is claimed of a figure, and where the books end: cases that tools/mutate has found missing.
 */
#include "account/ledger.h"
#include "account/members.h"
#include "account/quality.h"
#include "proc_tree.h"

/* ---- Sources of figures ---------------------------------------------------------------------- */

static struct provenance pick(enum part part, struct evidence e, enum metric_id id)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    for (unsigned i = 0; i < PROCESS_METRICS; i++)
        row_put_u64(&row, i, i + 1);
    struct figure_source sources[QUALITY_SOURCES_AT_MOST];
    size_t count = quality_sources(sources, part, false, &row, &e);
    assert_true(count <= QUALITY_SOURCES_AT_MOST);
    union value value;
    return quality_pick(sources, count, id, &value);
}

static void expect(enum part part, struct evidence e, enum metric_id id, enum quality quality,
                   const char *source)
{
    struct provenance found = pick(part, e, id);
    assert_int_equal(found.quality, quality);
    assert_string_equal(found.source, source);
    /* No source has taken the place of the first one. */
    found = pick(part, e, process_wall_seconds);
    assert_int_equal(found.quality, QUALITY_EXACT);
    assert_string_equal(found.source, "clock");
}

static void test_a_cgroup_counts_the_whole_target(void **state)
{
    struct evidence e = {.of_cgroup = BIT(process_cpu_seconds) | BIT(process_cpu_user_seconds)};
    expect(PART_COMBINED, e, process_cpu_seconds, QUALITY_EXACT, "cgroup");
    expect(PART_COMBINED, e, process_cpu_user_seconds, QUALITY_EXACT, "cgroup");
    expect(PART_COMBINED, e, process_cpu_system_seconds, QUALITY_SAMPLED, "samples");
    expect(PART_DESCENDANTS, e, process_cpu_seconds, QUALITY_SAMPLED, "samples");
    expect(PART_MAIN, e, process_cpu_seconds, QUALITY_SAMPLED, "samples");
    e.cgroup_has_ticks = true; /* the two kinds of CPU time are not measured then */
    expect(PART_COMBINED, e, process_cpu_seconds, QUALITY_EXACT, "cgroup");
    expect(PART_COMBINED, e, process_cpu_user_seconds, QUALITY_SAMPLED, "cgroup");
    expect(PART_COMBINED, e, process_cpu_system_seconds, QUALITY_SAMPLED, "samples");
    e.cgroup_is_gone = true;
    expect(PART_COMBINED, e, process_cpu_seconds, QUALITY_LOWER_BOUND, "cgroup");
    expect(PART_COMBINED, e, process_cpu_user_seconds, QUALITY_LOWER_BOUND, "cgroup");
}

static void test_the_network_has_a_source_of_its_own(void **state)
{
    struct evidence e = {.of_network = {QUALITY_EXACT, "namespace"}};
    expect(PART_COMBINED, e, process_network_received_bytes, QUALITY_EXACT, "namespace");
    expect(PART_COMBINED, e, process_network_sent_bytes, QUALITY_EXACT, "namespace");
    expect(PART_COMBINED, e, process_cpu_seconds, QUALITY_SAMPLED, "samples");
    expect(PART_MAIN, e, process_network_sent_bytes, QUALITY_SAMPLED, "samples");
}

static void test_records_count_processes(void **state)
{
    struct evidence e = {.started_is_exact = true};
    expect(PART_COMBINED, e, process_processes_started_count, QUALITY_EXACT, "task records");
    expect(PART_COMBINED, e, process_cpu_seconds, QUALITY_SAMPLED, "samples");
    expect(PART_MAIN, e, process_processes_started_count, QUALITY_EXACT, "identity");
}

static void test_wait4_has_all_of_rusage(void **state)
{
    static const enum metric_id ids[] = {
        process_cpu_seconds,        process_cpu_user_seconds,
        process_cpu_system_seconds, process_faults_minor_count,
        process_faults_major_count, process_switches_voluntary_count,
        process_memory_peak_bytes,  process_switches_involuntary_count,
    };
    struct evidence e = {.all_reaped = true, .peak_is_exact = true};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        expect(PART_COMBINED, e, ids[i], QUALITY_EXACT_IF_REAPED, "wait4");
    static const enum metric_id io[] = {
        process_storage_read_bytes,      process_storage_written_bytes,
        process_storage_cancelled_bytes, process_io_read_bytes,
        process_io_written_bytes,        process_io_read_calls_count,
        process_io_write_calls_count,
    };
    for (size_t i = 0; i < ARRAY_LEN(io); i++)
        expect(PART_COMBINED, e, io[i], QUALITY_EXACT_IF_REAPED, "wait4, io");
    /* Not whose peak it was. */
    expect(PART_DESCENDANTS, e, process_memory_peak_bytes, QUALITY_LOWER_BOUND, "samples");
}

static void test_of_equals_the_whole_is_named(void **state)
{
    struct provenance whole = {QUALITY_SAMPLED, "whole"}, part = {QUALITY_SAMPLED, "part"};
    assert_string_equal(quality_of_difference(whole, part, false).source, "whole");
}

/* ---- Rates ----------------------------------------------------------------------------------- */

static double cores_of(uint64_t cpu_ns, uint64_t now_ns, double most_cores)
{
    struct rate rates[RATES_PER_ENTITY];
    struct row row;
    rates_begin(rates, 0);
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, cpu_ns);
    rates_put(rates, &row, ENTITY_PROCESS, now_ns, most_cores);
    return row_value(&row, process_cpu_cores).d;
}

static void test_cores_of_a_process_and_their_limit(void **state)
{
    assert_true(cores_of(3 * NS_PER_SECOND, NS_PER_SECOND, 0) == 3); /* no limit is known */
    assert_true(cores_of(3 * NS_PER_SECOND, NS_PER_SECOND, 2) == 2);
    assert_true(cores_of(3 * NS_PER_SECOND, NS_PER_SECOND, 1) == 1);
    assert_true(cores_of(3 * NS_PER_SECOND, NS_PER_SECOND, 0.5) == 0.5);
}

/* ---- Members --------------------------------------------------------------------------------- */

static struct member *add_member(struct members *m, pid_t pid, pid_t parent, uint64_t rss)
{
    struct member *one = members_add(m, pid);
    assert_non_null(one);
    one->was_seen = true;
    one->targets = 1;
    one->process.state = 'R';
    one->process.entity.parent = parent;
    row_init(&one->process.own, ENTITY_PROCESS);
    row_put_u64(&one->process.own, process_memory_rss_bytes, rss);
    return one;
}

/* As of a process and its vfork child. */
static void test_a_subtree_counts_shared_memory_once(void **state)
{
    struct members m;
    struct row row;
    members_init(&m, 0);
    struct member *one = add_member(&m, 1, 0, 100);
    struct member *two = add_member(&m, 2, 1, 100);
    add_member(&m, 3, 1, 7);
    one->process.execs = 4;
    two->process.execs = 9;
    members_share_memory(&m, one, two);
    assert_int_equal(one->memory_id, two->memory_id);
    assert_int_equal(one->memory_execs, 4);
    assert_int_equal(two->memory_execs, 9);
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_value(&row, process_memory_rss_bytes, 107);
    assert_true(subtree_sum(&m, 2, 0, &row)); /* the other one is not in it */
    assert_value(&row, process_memory_rss_bytes, 100);
    one->was_seen = false; /* only what is counted counts for another */
    two->process.entity.parent = 3;
    assert_true(subtree_sum(&m, 3, 0, &row));
    assert_value(&row, process_memory_rss_bytes, 107);
    one->was_seen = true;
    one->targets = 0;
    assert_true(subtree_sum(&m, 3, 0, &row));
    assert_value(&row, process_memory_rss_bytes, 107);
    members_done(&m);
}

/* ---- Ledger ---------------------------------------------------------------------------------- */

struct books {
    struct ledger ledger;
    struct members members;
    struct row parts[PARTS];
};

static void books_begin(struct books *b, bool own_only)
{
    ledger_init(&b->ledger, 1, own_only);
    members_init(&b->members, 0);
}

static struct member *books_join(struct books *b, pid_t pid, bool is_main)
{
    struct member *m = add_member(&b->members, pid, is_main ? 0 : 1, 0);
    m->main_of = is_main;
    ledger_join(&b->ledger, m, true);
    return m;
}

static void books_fold(struct books *b)
{
    ledger_fold(&b->ledger, &b->members, true, false, b->parts);
}

static void books_leave(struct books *b, struct member *m)
{
    ledger_leave(&b->ledger, m, false);
    m->gone = true;
    members_sweep(&b->members);
}

static void test_a_member_that_left_is_remembered(void **state)
{
    struct books b;
    books_begin(&b, false);
    struct member *main = books_join(&b, 1, true);
    struct member *child = books_join(&b, 2, false);
    child->process.ignores_sigchld = true;
    row_put_u64(&child->process.own, process_switches_voluntary_count, 5);
    books_leave(&b, child);
    assert_true(b.ledger.ignoring);
    books_fold(&b);
    assert_value(&b.parts[PART_COMBINED], process_switches_voluntary_count, 5);
    books_leave(&b, main);
    books_fold(&b);
    assert_value(&b.parts[PART_COMBINED], process_switches_voluntary_count, 5);
    members_done(&b.members);
}

static void test_a_member_that_parted_leaves_what_it_used(void **state)
{
    struct books b;
    books_begin(&b, true);
    struct member *main = books_join(&b, 1, true);
    row_put_u64(&main->process.own, process_cpu_seconds, 8);
    row_put_u64(&main->process.own, process_switches_voluntary_count, 3);
    main->process.denied = BIT(process_io_read_bytes) | BIT(process_cpu_wait_seconds) |
                           BIT(process_memory_peak_bytes) | BIT(process_memory_rss_bytes);
    ledger_part(&b.ledger, main);
    assert_true(b.ledger.unknown_left == (main->process.denied & ~BIT(process_memory_rss_bytes)));
    main->targets = 0;
    books_fold(&b);
    assert_value(&b.parts[PART_COMBINED], process_cpu_seconds, 8);
    assert_value(&b.parts[PART_COMBINED], process_switches_voluntary_count, 3);
    members_done(&b.members);
}

/* It has no memory any more: the descendants have none, which is known. */
static void test_a_zombie_is_not_a_live_descendant(void **state)
{
    struct books b;
    books_begin(&b, false);
    struct member *main = books_join(&b, 1, true);
    row_put_u64(&main->process.own, process_memory_rss_bytes, 100);
    struct member *child = books_join(&b, 2, false);
    child->process.has_ended = true;
    row_init(&child->process.own, ENTITY_PROCESS);
    books_fold(&b);
    assert_value(&b.parts[PART_COMBINED], process_memory_rss_bytes, 100);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_rss_bytes, 0);
    members_done(&b.members);
}

static void test_what_is_hidden_of_the_parts(void **state)
{
    struct books b;
    books_begin(&b, false);
    struct member *main = books_join(&b, 1, true);
    books_join(&b, 2, false)->process.denied = PROCESS_ROLLUP_BITS;
    books_fold(&b); /* the memory of one alone is not shared with another */
    assert_false(b.ledger.denied[PART_DESCENDANTS] & BIT(process_memory_distinct_bytes));
    books_join(&b, 3, false);
    books_fold(&b);
    assert_true(b.ledger.denied[PART_DESCENDANTS] & BIT(process_memory_distinct_bytes));
    assert_true(b.ledger.denied[PART_COMBINED] & BIT(process_memory_distinct_bytes));
    assert_false(b.ledger.denied[PART_MAIN] & BIT(process_memory_distinct_bytes));
    /* What is not known of the main process cannot be taken away from the whole. */
    main->process.denied = BIT(process_io_read_bytes);
    books_leave(&b, main);
    books_fold(&b);
    assert_false(b.ledger.denied[PART_COMBINED] & BIT(process_io_read_bytes));
    assert_true(b.ledger.denied[PART_DESCENDANTS] & BIT(process_io_read_bytes));
    members_done(&b.members);
}

/* ---- Several targets ------------------------------------------------------------------------- */

enum { TARGETS = 3 };

/* The CPU time of three targets; UINT64_MAX: it is not known. */
static void targets_make(struct row rows[TARGETS], const struct row *pointers[TARGETS],
                         const uint64_t cpu[TARGETS])
{
    for (unsigned i = 0; i < TARGETS; i++) {
        row_init(&rows[i], ENTITY_PROCESS);
        if (cpu[i] != UINT64_MAX)
            row_put_u64(&rows[i], process_cpu_seconds, cpu[i]);
        pointers[i] = &rows[i];
    }
}

static void test_a_sum_needs_every_target(void **state)
{
    for (unsigned missing = 0; missing <= TARGETS; missing++) {
        struct ledger whole;
        struct row rows[TARGETS], combined;
        const struct row *targets[TARGETS];
        uint64_t cpu[TARGETS] = {1, 2, 4};
        if (missing < TARGETS)
            cpu[missing] = UINT64_MAX;
        targets_make(rows, targets, cpu);
        ledger_init(&whole, 1, false);
        row_init(&combined, ENTITY_PROCESS);
        ledger_add_up(&whole, targets, TARGETS, &combined);
        if (missing == TARGETS)
            assert_value(&combined, process_cpu_seconds, 7);
        else
            assert_unknown(&combined, process_cpu_seconds);
    }
}

static void test_a_target_with_more_than_the_union(void **state)
{
    static const struct {
        uint64_t cpu, raised;
        bool is_losing;
    } cases[] = {{5, 5, false}, {4, 5, true}, {6, 6, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases) * TARGETS; i++) {
        struct ledger whole;
        struct row rows[TARGETS], combined;
        const struct row *targets[TARGETS];
        uint64_t cpu[TARGETS] = {1, 2, 3};
        cpu[i / ARRAY_LEN(cases)] = 5;
        targets_make(rows, targets, cpu);
        ledger_init(&whole, 1, false);
        row_init(&combined, ENTITY_PROCESS);
        row_put_u64(&combined, process_cpu_seconds, cases[i % ARRAY_LEN(cases)].cpu);
        ledger_at_least(&whole, targets, TARGETS, true, &combined);
        assert_value(&combined, process_cpu_seconds, cases[i % ARRAY_LEN(cases)].raised);
        assert_int_equal(whole.losing, cases[i % ARRAY_LEN(cases)].is_losing);
        /* Nothing is divided that is not known. */
        assert_unknown(&combined, process_cpu_user_seconds);
        assert_unknown(&combined, process_cpu_system_seconds);
        assert_false(whole.is_divided_again);
    }
}

/* Each call of the ledger makes the last fold out of date, though no member was read since. */
static void expect_books(struct books *b, enum metric_id id, uint64_t value)
{
    for (int again = 0; again < 2; again++) {
        ledger_fold(&b->ledger, &b->members, false, false, b->parts);
        assert_value(&b->parts[PART_COMBINED], id, value);
    }
}

static void test_every_entry_is_in_the_next_fold(void **state)
{
    struct books b;
    struct row reaped;
    books_begin(&b, false);
    books_join(&b, 1, true);
    books_fold(&b);
    expect_books(&b, process_processes_started_count, 1);
    struct member *child = books_join(&b, 2, false);
    expect_books(&b, process_processes_started_count, 2);
    ledger_put_recorded(&b.ledger, 9);
    expect_books(&b, process_processes_started_count, 9);

    row_init(&reaped, ENTITY_PROCESS);
    row_put_u64(&reaped, process_cpu_seconds, 10);
    ledger_put_reaped(&b.ledger, &reaped);
    expect_books(&b, process_cpu_seconds, 10);
    ledger_raise_reaped_peak(&b.ledger, 500);
    expect_books(&b, process_memory_peak_bytes, 500);
    row_put_u64(&reaped, process_cpu_seconds, 25); /* in place of the ten; the peak stays */
    ledger_put_reaped(&b.ledger, &reaped);
    expect_books(&b, process_cpu_seconds, 25);
    expect_books(&b, process_memory_peak_bytes, 500);

    row_put_u64(&child->process.own, process_cpu_seconds, 4);
    ledger_leave(&b.ledger, child, true);
    expect_books(&b, process_cpu_seconds, 29);
    row_put_u64(&child->process.own, process_cpu_seconds, 7);
    ledger_part(&b.ledger, child);
    expect_books(&b, process_cpu_seconds, 36);
    /* What a member has inherited from a process outside is taken off: less than before is held. */
    row_put_u64(&child->process.own, process_cpu_seconds, 6);
    ledger_foreign(&b.ledger, child);
    expect_books(&b, process_cpu_seconds, 36);
    row_put_u64(&reaped, process_cpu_seconds, 35);
    ledger_put_reaped(&b.ledger, &reaped);
    expect_books(&b, process_cpu_seconds, 40);
    members_done(&b.members);
}

static void test_figures_that_are_taken_off_change_the_fold(void **state)
{
    struct books b;
    books_begin(&b, false);
    struct member *one = books_join(&b, 1, true);
    books_fold(&b);
    row_put_u64(&one->process.own, process_cpu_seconds, 8);
    ledger_foreign(&b.ledger, one);
    assert_true(b.ledger.is_changed);
    books_fold(&b);
    assert_false(b.ledger.is_changed);
    struct process before = one->process;
    row_put_u64(&one->process.own, process_cpu_seconds, 11);
    ledger_rebase(&b.ledger, one, &before);
    assert_true(b.ledger.is_changed);
    /* After the last fold, which may have let a counter fall, everything is summed up anew. */
    ledger_fold(&b.ledger, &b.members, true, true, b.parts);
    assert_true(b.ledger.is_changed);
    ledger_fold(&b.ledger, &b.members, true, false, b.parts);
    assert_false(b.ledger.is_changed);
    /* Whether user and system time are of the moment of CPU time is part of what was folded. */
    row_put_u64(&b.parts[PART_COMBINED], process_cpu_seconds, 999);
    b.ledger.kinds_are_old = true;
    ledger_fold(&b.ledger, &b.members, false, false, b.parts);
    assert_false(row_u64(&b.parts[PART_COMBINED], process_cpu_seconds) == 999);
    row_put_u64(&b.parts[PART_COMBINED], process_cpu_seconds, 999);
    ledger_fold(&b.ledger, &b.members, false, false, b.parts);
    assert_false(row_u64(&b.parts[PART_COMBINED], process_cpu_seconds) == 999);
    members_done(&b.members);
}

/* ---- CPU time of a better source ------------------------------------------------------------- */

static void put_cpu(struct row *row, uint64_t cpu, uint64_t user, uint64_t system)
{
    row_put_u64(row, process_cpu_seconds, cpu);
    row_put_u64(row, process_cpu_user_seconds, user);
    row_put_u64(row, process_cpu_system_seconds, system);
}

static void assert_cpu(const struct row *row, uint64_t cpu, uint64_t user, uint64_t system)
{
    assert_value(row, process_cpu_seconds, cpu);
    assert_value(row, process_cpu_user_seconds, user);
    assert_value(row, process_cpu_system_seconds, system);
}

static void test_better_figures_replace_the_sums(void **state)
{
    struct ledger l;
    struct row better, combined;
    ledger_init(&l, 1, false);
    row_init(&better, ENTITY_PROCESS);
    row_init(&combined, ENTITY_PROCESS);
    put_cpu(&combined, 50, 30, 20);
    row_put_u64(&combined, process_io_read_bytes, 77);
    put_cpu(&better, 100, 60, 30);
    ledger_replace(&l, &better, false, &combined); /* as they are */
    assert_cpu(&combined, 100, 60, 30);
    assert_value(&combined, process_io_read_bytes, 77);
    assert_int_equal(l.replaced_user_ns + l.replaced_system_ns, 0);
    ledger_replace(&l, &better, true, &combined); /* ticks say how it is divided */
    assert_cpu(&combined, 100, 66, 34);
    put_cpu(&better, 110, 10, 90); /* neither falls */
    ledger_replace(&l, &better, true, &combined);
    assert_cpu(&combined, 110, 66, 44);
    row_unknown(&better, process_cpu_user_seconds); /* without the kinds nothing is divided */
    row_put_u64(&better, process_cpu_seconds, 500);
    put_cpu(&combined, 1, 2, 3);
    ledger_replace(&l, &better, true, &combined);
    assert_cpu(&combined, 500, 2, 90);
    assert_int_equal(l.replaced_user_ns, 66);
    assert_int_equal(l.replaced_system_ns, 44);
}

static void test_the_cgroup_of_a_command_raises_the_whole(void **state)
{
    struct ledger l;
    struct row parts[PARTS];
    ledger_init(&l, 1, false);
    for (unsigned part = 0; part < PARTS; part++)
        row_init(&parts[part], ENTITY_PROCESS);
    put_cpu(&parts[PART_COMBINED], 100, 80, 20);
    put_cpu(&parts[PART_MAIN], 60, 50, 10);
    put_cpu(&parts[PART_DESCENDANTS], 40, 30, 10);
    ledger_raise_cpu(&l, 200, 0, 0, false, parts); /* divided as before */
    assert_cpu(&parts[PART_COMBINED], 200, 160, 40);
    assert_cpu(&parts[PART_MAIN], 60, 50, 10);
    assert_cpu(&parts[PART_DESCENDANTS], 140, 110, 30);
    assert_int_equal(l.replaced_user_ns, 160);
    assert_int_equal(l.replaced_system_ns, 40);
    ledger_raise_cpu(&l, 220, 0, 90, false, parts); /* one kind is enough; neither falls */
    assert_cpu(&parts[PART_COMBINED], 220, 160, 60);
    put_cpu(&parts[PART_COMBINED], 300, 200, 100);
    ledger_raise_cpu(&l, 250, 30, 10, false, parts); /* the sum over members was more */
    assert_cpu(&parts[PART_COMBINED], 300, 225, 75);
    assert_cpu(&parts[PART_DESCENDANTS], 240, 175, 65);
    /* At the end no part has more than the whole, and what was shown before does not bind. */
    put_cpu(&parts[PART_COMBINED], 280, 100, 150);
    ledger_raise_cpu(&l, 280, 0, 0, true, parts);
    assert_cpu(&parts[PART_COMBINED], 280, 112, 168);
    assert_cpu(&parts[PART_DESCENDANTS], 220, 62, 158);
    assert_int_equal(l.replaced_user_ns, 225);
    /* A sample keeps what fell where it was. */
    ledger_hold(&l, parts);
    assert_cpu(&parts[PART_COMBINED], 280, 225, 168);
    assert_cpu(&parts[PART_DESCENDANTS], 240, 175, 158);
    assert_unknown(&parts[PART_COMBINED], process_io_read_bytes);
    /* Without descendants there is no rest. */
    l.own_only = true;
    row_init(&parts[PART_DESCENDANTS], ENTITY_PROCESS);
    ledger_raise_cpu(&l, 300, 0, 0, false, parts);
    assert_true(parts[PART_DESCENDANTS].present == 0);
}

/* User and system time of an earlier moment than CPU time stand where they were. */
static void test_old_kinds_stand(void **state)
{
    struct books b;
    struct ledger *l = &b.ledger;
    books_begin(&b, false);
    struct member *main = books_join(&b, 1, true);
    row_put_u64(&l->own_base, process_cpu_seconds, 0); /* with a base the kinds are divided */
    put_cpu(&main->process.own, 100, 60, 20);
    l->kinds_are_old = true;
    books_fold(&b); /* the first time there is nothing to stand on */
    assert_cpu(&b.parts[PART_COMBINED], 100, 75, 25);
    put_cpu(&main->process.own, 300, 60, 20);
    books_fold(&b);
    assert_cpu(&b.parts[PART_COMBINED], 300, 75, 25);
    l->kinds_are_old = false;
    books_fold(&b);
    assert_cpu(&b.parts[PART_COMBINED], 300, 225, 75);
    members_done(&b.members);
}

static void test_a_new_member_is_a_process(void **state)
{
    struct members m;
    struct row copy;
    members_init(&m, 0);
    struct member *one = members_add(&m, 7);
    assert_int_equal(one->process.entity.kind, ENTITY_PROCESS);
    assert_int_equal(one->process.own.first, process_first);
    row_put_u64(&one->process.own, process_memory_peak_bytes, 50);
    row_put_u64(&one->process.own, process_memory_rss_bytes, 40);
    row_put_u64(&one->process.own, process_threads_count, 3);
    /* Memory that another member has counted adds nothing; the peak would be counted again. */
    const struct row *row = member_adds(one, true, &copy);
    assert_value(row, process_memory_rss_bytes, 0);
    assert_unknown(row, process_memory_peak_bytes);
    assert_value(row, process_threads_count, 3);
    assert_ptr_equal(member_adds(one, false, &copy), &one->process.own);
    members_done(&m);
}

static void test_the_main_process_as_a_part(void **state)
{
    struct books b;
    books_begin(&b, false);
    struct member *main = books_join(&b, 1, true);
    struct member *child = books_join(&b, 2, false);
    row_put_u64(&child->process.own, process_io_read_bytes, 9);
    books_fold(&b);
    assert_value(&b.parts[PART_MAIN], process_processes_count, 1);
    /* What is not known of the main process is not known of the rest. */
    assert_value(&b.parts[PART_COMBINED], process_io_read_bytes, 9);
    assert_unknown(&b.parts[PART_DESCENDANTS], process_io_read_bytes);
    main->process.has_ended = true;
    books_fold(&b);
    assert_value(&b.parts[PART_MAIN], process_processes_count, 0);
    members_done(&b.members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cgroup_counts_the_whole_target),
        cmocka_unit_test(test_the_network_has_a_source_of_its_own),
        cmocka_unit_test(test_records_count_processes),
        cmocka_unit_test(test_wait4_has_all_of_rusage),
        cmocka_unit_test(test_of_equals_the_whole_is_named),
        cmocka_unit_test(test_cores_of_a_process_and_their_limit),
        cmocka_unit_test(test_a_subtree_counts_shared_memory_once),
        cmocka_unit_test(test_a_member_that_left_is_remembered),
        cmocka_unit_test(test_a_member_that_parted_leaves_what_it_used),
        cmocka_unit_test(test_a_zombie_is_not_a_live_descendant),
        cmocka_unit_test(test_what_is_hidden_of_the_parts),
        cmocka_unit_test(test_a_sum_needs_every_target),
        cmocka_unit_test(test_a_target_with_more_than_the_union),
        cmocka_unit_test(test_every_entry_is_in_the_next_fold),
        cmocka_unit_test(test_figures_that_are_taken_off_change_the_fold),
        cmocka_unit_test(test_better_figures_replace_the_sums),
        cmocka_unit_test(test_the_cgroup_of_a_command_raises_the_whole),
        cmocka_unit_test(test_old_kinds_stand),
        cmocka_unit_test(test_a_new_member_is_a_process),
        cmocka_unit_test(test_the_main_process_as_a_part),
    };
    return RUN("account/evidence", tests);
}
