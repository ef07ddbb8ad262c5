/* SPDX-License-Identifier: MIT
 * What is claimed of a figure, and where the books end: cases that tools/mutate has found missing.
 */
#include "account/ledger.h"
#include "account/members.h"
#include "account/quality.h"
#include "account/rates.h"
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
    };
    return RUN("account/evidence", tests);
}
