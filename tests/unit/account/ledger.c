/* SPDX-License-Identifier: MIT */
#include "account/ledger.h"
#include "account/members.h"
#include "proc_tree.h"

/* ---- Single rules ---------------------------------------------------------------------------- */

struct books {
    struct ledger ledger;
    struct members members;
    struct row parts[PARTS];
};

static void begin(struct books *b, bool own_only)
{
    ledger_init(&b->ledger, 1, own_only);
    members_init(&b->members, 0);
}

static void end(struct books *b)
{
    members_done(&b->members);
}

static struct member *join(struct books *b, pid_t pid, bool is_main)
{
    struct member *m = members_add(&b->members, pid);
    m->targets = 1;
    m->main_of = is_main;
    m->was_seen = true;
    m->process.state = 'R';
    ledger_join(&b->ledger, m, true);
    return m;
}

static void put(struct member *m, enum metric_id id, uint64_t own, uint64_t inherited)
{
    row_put_u64(&m->process.own, id, own);
    if (metric_of(id)->fold == FOLD_CONSERVED)
        inherited_put(&m->process.inherited, id, inherited);
}

static const struct row *fold(struct books *b)
{
    ledger_fold(&b->ledger, &b->members, true, false, b->parts);
    return &b->parts[PART_COMBINED];
}

static void leave(struct books *b, struct member *m, bool lost)
{
    ledger_leave(&b->ledger, m, lost);
    m->gone = true;
    members_sweep(&b->members);
}

static void test_nothing_is_unknown(void **state)
{
    struct books b;
    begin(&b, false);
    const struct row *all = fold(&b);
    assert_true((all->present & ~BIT(process_processes_started_count)) == 0);
    assert_value(all, process_processes_started_count, 0);
    end(&b);
}

static void test_conserved(void **state)
{
    struct books b;
    begin(&b, false);
    put(join(&b, 1, true), process_cpu_seconds, 100, 30);
    put(join(&b, 2, false), process_cpu_seconds, 7, 5);
    row_put_u64(&b.ledger.reaped, process_cpu_seconds, 1000);
    assert_value(fold(&b), process_cpu_seconds, 1142);
    assert_value(&b.parts[PART_MAIN], process_cpu_seconds, 100);
    assert_value(&b.parts[PART_DESCENDANTS], process_cpu_seconds, 1042);
    end(&b);
}

static void test_own_only(void **state)
{
    struct books b;
    begin(&b, true);
    struct member *main = join(&b, 1, true);
    put(main, process_cpu_seconds, 100, 30);
    put(main, process_switches_voluntary_count, 4, 0);
    row_put_u64(&b.ledger.reaped, process_cpu_seconds, 1000);
    row_put_u64(&b.ledger.reaped, process_switches_voluntary_count, 1000);
    row_put_u64(&b.ledger.reaped, process_memory_peak_bytes, 1000);
    assert_value(fold(&b), process_cpu_seconds, 100);
    assert_value(&b.parts[PART_COMBINED], process_switches_voluntary_count, 4);
    assert_unknown(&b.parts[PART_COMBINED], process_memory_peak_bytes);
    assert_true(b.parts[PART_DESCENDANTS].present == 0);
    put(main, process_cpu_seconds, 120, 30);
    leave(&b, main, false);
    assert_value(fold(&b), process_cpu_seconds, 120);
    assert_value(&b.parts[PART_MAIN], process_cpu_seconds, 120);
    assert_value(&b.parts[PART_COMBINED], process_switches_voluntary_count, 4);
    end(&b);
}

static void test_counters_never_fall(void **state)
{
    struct books b;
    begin(&b, false);
    put(join(&b, 1, true), process_cpu_seconds, 100, 0);
    struct member *child = join(&b, 2, false);
    put(child, process_cpu_seconds, 50, 0);
    assert_value(fold(&b), process_cpu_seconds, 150);
    leave(&b, child, false); /* reaped, but the parent was read before */
    assert_value(fold(&b), process_cpu_seconds, 150);
    put(b.members.order[0], process_cpu_seconds, 110, 20); /* ticks: not all is back yet */
    assert_value(fold(&b), process_cpu_seconds, 150);
    put(b.members.order[0], process_cpu_seconds, 110, 50);
    assert_value(fold(&b), process_cpu_seconds, 160);
    assert_value(&b.parts[PART_DESCENDANTS], process_cpu_seconds, 50);
    end(&b);
}

static void test_unchanged_members_are_not_summed_again(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    put(main, process_cpu_seconds, 100, 0);
    fold(&b);
    struct row reaped = {0};
    row_put_u64(&reaped, process_cpu_seconds, 10);
    ledger_put_reaped(&b.ledger, &reaped);
    ledger_fold(&b.ledger, &b.members, false, false, b.parts);
    assert_value(&b.parts[PART_COMBINED], process_cpu_seconds, 110);
    /* Nothing has changed: the same again, whatever was made of the rows meanwhile. */
    row_put_u64(&b.parts[PART_COMBINED], process_cpu_seconds, 999);
    ledger_fold(&b.ledger, &b.members, false, false, b.parts);
    assert_value(&b.parts[PART_COMBINED], process_cpu_seconds, 110);
    end(&b);
}

static void test_lost(void **state)
{
    struct books b;
    begin(&b, false);
    put(join(&b, 1, true), process_cpu_seconds, 100, 0);
    struct member *child = join(&b, 2, false);
    put(child, process_cpu_seconds, 50, 8);
    fold(&b);
    assert_false(b.ledger.losing);
    leave(&b, child, true);
    assert_true(b.ledger.losing);
    assert_value(fold(&b), process_cpu_seconds, 158);
    end(&b);
}

static void test_ignoring_is_remembered(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *m = join(&b, 1, true);
    m->process.ignores_sigchld = true;
    fold(&b);
    m->process.ignores_sigchld = false;
    fold(&b);
    assert_true(b.ledger.ignoring);
    assert_false(b.ledger.losing);
    end(&b);
}

static void test_kept_and_max(void **state)
{
    struct books b;
    begin(&b, false);
    put(join(&b, 1, true), process_cpu_wait_seconds, 10, 0);
    put(b.members.order[0], process_memory_peak_bytes, 500, 0);
    struct member *child = join(&b, 2, false);
    put(child, process_cpu_wait_seconds, 7, 0);
    put(child, process_memory_peak_bytes, 900, 0);
    assert_value(fold(&b), process_cpu_wait_seconds, 17);
    assert_value(&b.parts[PART_COMBINED], process_memory_peak_bytes, 900);
    leave(&b, child, false);
    assert_value(fold(&b), process_cpu_wait_seconds, 17);
    assert_value(&b.parts[PART_COMBINED], process_memory_peak_bytes, 900);
    row_put_u64(&b.ledger.reaped, process_memory_peak_bytes, 950);
    assert_value(fold(&b), process_memory_peak_bytes, 950);
    end(&b);
}

/* A sum of gauges is known only when every live member has shown its part. */
static void test_sum_of_gauges(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    struct member *child = join(&b, 2, false);
    put(main, process_memory_pss_bytes, 100, 0);
    assert_unknown(fold(&b), process_memory_pss_bytes);
    assert_unknown(&b.parts[PART_MAIN], process_memory_pss_bytes);
    assert_unknown(&b.parts[PART_DESCENDANTS], process_memory_pss_bytes);

    put(child, process_memory_pss_bytes, 11, 0);
    assert_value(fold(&b), process_memory_pss_bytes, 111);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_pss_bytes, 11);

    /* One that permissions hide is left out, and said so. */
    struct member *other = join(&b, 3, false);
    other->process.denied = BIT(process_memory_pss_bytes);
    assert_value(fold(&b), process_memory_pss_bytes, 111);
    assert_true(b.ledger.denied[PART_COMBINED] >> process_memory_pss_bytes & 1);
    assert_true(b.ledger.denied[PART_DESCENDANTS] >> process_memory_pss_bytes & 1);
    assert_true(b.ledger.denied[PART_MAIN] == 0);

    /* One that has ended has none. */
    other->process.denied = 0;
    other->process.has_ended = true;
    assert_value(fold(&b), process_memory_pss_bytes, 111);
    assert_true(b.ledger.denied[PART_COMBINED] == 0);
    assert_value(&b.parts[PART_COMBINED], process_processes_count, 2);
    end(&b);
}

/* What permissions hide of whom, and for how long. */
static void test_hidden_counters(void **state)
{
    static const uint64_t written = BIT(process_io_written_bytes);
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    put(main, process_io_written_bytes, 100, 0);
    struct member *other = join(&b, 2, false);
    other->process.denied = written;
    assert_value(fold(&b), process_io_written_bytes, 100);
    assert_true(b.ledger.denied[PART_COMBINED] == written);
    assert_true(b.ledger.denied[PART_DESCENDANTS] == written);
    assert_true(b.ledger.denied[PART_MAIN] == 0);
    /* A zombie that was not read is missing until it is reaped, … */
    other->process.has_ended = true;
    fold(&b);
    assert_true(b.ledger.denied[PART_COMBINED] == written);
    leave(&b, other, false);
    fold(&b);
    assert_true(b.ledger.denied[PART_COMBINED] == 0 && b.ledger.denied[PART_DESCENDANTS] == 0);
    /* … unless only its end hides it, and it was found a moment ago: it is about to be reaped, … */
    other = join(&b, 4, false);
    other->process.has_ended = true;
    other->process.denied = other->process.denied_at_end = written;
    fold(&b);
    assert_true(b.ledger.denied[PART_COMBINED] == 0);
    other->stays_ended = true;
    fold(&b);
    assert_true(b.ledger.denied[PART_COMBINED] == written);
    leave(&b, other, false);
    fold(&b);
    assert_true(b.ledger.denied[PART_COMBINED] == 0 && b.ledger.denied[PART_DESCENDANTS] == 0);
    /* … and for good when nobody does. */
    other = join(&b, 3, false);
    other->process.denied = written;
    leave(&b, other, true);
    fold(&b);
    assert_true(b.ledger.denied[PART_COMBINED] == written);
    assert_true(b.ledger.denied[PART_MAIN] == 0);
    end(&b);
    /* What the main process hides, the others' difference lacks too. */
    begin(&b, false);
    main = join(&b, 1, true);
    main->process.denied = written;
    put(main, process_io_written_bytes, 100, 0); /* from before */
    fold(&b);
    for (unsigned part = 0; part < PARTS; part++)
        assert_true(b.ledger.denied[part] == written);
    leave(&b, main, false);
    fold(&b);
    assert_true(b.ledger.denied[PART_COMBINED] == 0 && b.ledger.denied[PART_MAIN] == written);
    end(&b);
}

/* Pages are counted once over several processes: without the page tables of one that is a part. Of
 * one process it is its RSS. */
static void test_hidden_page_tables(void **state)
{
    static const uint64_t once = BIT(process_memory_distinct_bytes);
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    main->process.denied = PROCESS_ROLLUP_BITS;
    fold(&b);
    assert_false(b.ledger.denied[PART_COMBINED] & once);
    join(&b, 2, false);
    fold(&b);
    assert_true(b.ledger.denied[PART_COMBINED] & once);
    assert_false((b.ledger.denied[PART_MAIN] | b.ledger.denied[PART_DESCENDANTS]) & once);
    main->process.has_ended = true;
    fold(&b);
    assert_true(b.ledger.denied[PART_COMBINED] == 0);
    end(&b);
}

static void put_memory(struct member *m, uint64_t rss, uint64_t pss, uint64_t uss)
{
    put(m, process_memory_pss_bytes, pss, 0);
    put(m, process_memory_uss_bytes, uss, 0);
    put(m, process_memory_distinct_bytes, rss, 0);
    put(m, process_memory_distinct_shared_bytes, rss - uss, 0);
}

/* What is shared counts once: as the largest share of one process, or as PSS says if that is more.
 */
static void test_once(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    put_memory(main, 100, 60, 20);
    assert_value(fold(&b), process_memory_distinct_bytes, 100);
    assert_value(&b.parts[PART_COMBINED], process_memory_distinct_shared_bytes, 80);
    assert_value(&b.parts[PART_MAIN], process_memory_distinct_bytes, 100);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_distinct_bytes, 0);

    /* The same 80 bytes, mapped by both. */
    struct member *child = join(&b, 2, false);
    assert_unknown(fold(&b), process_memory_distinct_bytes);
    put_memory(child, 90, 50, 10);
    assert_value(fold(&b), process_memory_distinct_bytes, 30 + 80);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_distinct_bytes, 90);
    assert_value(&b.parts[PART_MAIN], process_memory_distinct_shared_bytes, 80);

    /* Each shares with somebody else: PSS has more. */
    struct member *other = join(&b, 3, false);
    put_memory(other, 85, 80, 5);
    assert_value(fold(&b), process_memory_distinct_bytes, 35 + 155);
    assert_value(&b.parts[PART_COMBINED], process_memory_distinct_shared_bytes, 155);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_distinct_bytes, 15 + 115);

    /* One grows before its page tables are read again. */
    put(child, process_memory_distinct_bytes, 1000, 0);
    assert_value(fold(&b), process_memory_distinct_bytes, 1000);
    assert_value(&b.parts[PART_MAIN], process_memory_distinct_bytes, 100);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_distinct_bytes, 1000);
    end(&b);
}

/* Of one process it is its RSS, whether or not page tables were read. Of two it is unknown until
 * they were read, of the parts as well: a mean of the main process must not be above that of all.
 */
static void test_once_alone(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    put(main, process_memory_distinct_bytes, 300, 0);
    assert_value(fold(&b), process_memory_distinct_bytes, 300);
    assert_value(&b.parts[PART_MAIN], process_memory_distinct_bytes, 300);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_distinct_bytes, 0);
    assert_unknown(&b.parts[PART_COMBINED], process_memory_distinct_shared_bytes);

    struct member *child = join(&b, 2, false);
    put(child, process_memory_distinct_bytes, 200, 0);
    assert_unknown(fold(&b), process_memory_distinct_bytes);
    assert_unknown(&b.parts[PART_MAIN], process_memory_distinct_bytes);
    assert_unknown(&b.parts[PART_DESCENDANTS], process_memory_distinct_bytes);
    end(&b);
}

/* A child before exec has the memory of its parent: it counts where the first of them is. */
static void test_one_memory_of_two(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true), *child = join(&b, 2, false);
    struct member *other = join(&b, 3, false);
    struct member *members[] = {main, child};
    for (size_t i = 0; i < 2; i++) {
        put(members[i], process_memory_rss_bytes, 100, 0);
        put(members[i], process_memory_peak_bytes, 120, 0);
        put(members[i], process_threads_count, 1, 0);
    }
    put_memory(main, 100, 60, 20); /* the page tables of the child are not read again */
    put_memory(other, 10, 10, 10);
    put(other, process_memory_rss_bytes, 10, 0);
    put(other, process_memory_peak_bytes, 11, 0);
    put(other, process_threads_count, 1, 0);
    members_share_memory(&b.members, main, child);
    assert_true(main->memory_id && main->memory_id == child->memory_id && !other->memory_id);
    members_count_memory_once(&b.members);
    assert_value(fold(&b), process_memory_rss_bytes, 110);
    assert_value(&b.parts[PART_COMBINED], process_memory_pss_bytes, 70);
    assert_value(&b.parts[PART_COMBINED], process_memory_distinct_bytes, 30 + 80);
    assert_value(&b.parts[PART_COMBINED], process_threads_count, 3);
    assert_value(&b.parts[PART_COMBINED], process_processes_count, 3);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_rss_bytes, 10);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_pss_bytes, 10);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_peak_bytes, 11);

    /* Its own mark of the largest is not its own when it has ended, either. */
    child->process.has_ended = true;
    members_count_memory_once(&b.members);
    fold(&b);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_peak_bytes, 11);

    /* The parent is gone: now it counts where it is. */
    child->process.has_ended = false;
    leave(&b, main, false);
    members_count_memory_once(&b.members);
    assert_value(fold(&b), process_memory_rss_bytes, 110);
    assert_value(&b.parts[PART_DESCENDANTS], process_memory_rss_bytes, 110);
    end(&b);
}

/* In a target that has only one of the two, it counts there. */
static void test_one_memory_in_two_targets(void **state)
{
    struct members m;
    members_init(&m, 0);
    for (pid_t pid = 1; pid <= 4; pid++) {
        struct member *one = members_add(&m, pid);
        one->was_seen = true;
        one->targets = pid == 1 ? 1 : pid == 2 ? 2 : 3;
        if (pid > 1)
            members_share_memory(&m, m.order[0], one);
    }
    members_count_memory_once(&m);
    const uint64_t elsewhere[] = {0, 0, 3, 3};
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++)
        assert_int_equal(m.order[i]->memory_elsewhere, elsewhere[i]);
    members_done(&m);
}

/* A member whose page tables could not be read leaves all parts without the figure: the main
 * process alone would have seen more moments than all together. */
static void test_gauges_of_one_round(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true), *child = join(&b, 2, false);
    put_memory(main, 100, 60, 20);
    put(child, process_memory_distinct_bytes, 10, 0);
    assert_unknown(fold(&b), process_memory_pss_bytes);
    assert_unknown(&b.parts[PART_COMBINED], process_memory_distinct_bytes);
    for (unsigned part = 0; part < PARTS; part++) {
        assert_unknown(&b.parts[part], process_memory_pss_bytes);
        assert_unknown(&b.parts[part], process_memory_distinct_bytes);
    }
    put_memory(child, 10, 5, 5);
    assert_value(fold(&b), process_memory_pss_bytes, 65);
    assert_value(&b.parts[PART_MAIN], process_memory_pss_bytes, 60);
    end(&b);
}

/* All hidden is unknown, not zero. */
static void test_all_denied(void **state)
{
    struct books b;
    begin(&b, false);
    for (pid_t pid = 1; pid < 4; pid++) {
        struct member *m = join(&b, pid, pid == 1);
        m->process.denied = BIT(process_memory_pss_bytes) | BIT(process_io_read_bytes);
        put(m, process_cpu_seconds, 0, 0);
    }
    fold(&b);
    for (unsigned part = 0; part < PARTS; part++) {
        assert_unknown(&b.parts[part], process_memory_pss_bytes);
        assert_unknown(&b.parts[part], process_io_read_bytes);
        assert_value(&b.parts[part], process_cpu_seconds, 0); /* a zero that was read is known */
    }
    end(&b);
}

/* At the end the parts add up; a sample does not fall for it. */
static void test_what_falls_at_the_end(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true), *child = join(&b, 2, false);
    put(main, process_cpu_seconds, 100, 0);
    put(child, process_cpu_seconds, 50, 0);
    fold(&b);
    leave(&b, child, false);
    put(main, process_cpu_seconds, 110, 45); /* ticks: less than was seen of the child */
    ledger_fold(&b.ledger, &b.members, true, true, b.parts);
    assert_value(&b.parts[PART_COMBINED], process_cpu_seconds, 155);
    assert_value(&b.parts[PART_MAIN], process_cpu_seconds, 110);
    assert_value(&b.parts[PART_DESCENDANTS], process_cpu_seconds, 45);
    ledger_hold(&b.ledger, b.parts);
    assert_value(&b.parts[PART_DESCENDANTS], process_cpu_seconds, 50);
    assert_value(&b.parts[PART_MAIN], process_cpu_seconds, 110);
    end(&b);
}

static void test_gauges_end_with_the_last_process(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    put(main, process_memory_rss_bytes, 100, 0);
    put(main, process_cpu_seconds, 5, 0);
    assert_value(fold(&b), process_memory_rss_bytes, 100);
    main->process.has_ended = true;
    put(main, process_memory_rss_bytes, 0, 0);
    assert_unknown(fold(&b), process_memory_rss_bytes);
    assert_unknown(&b.parts[PART_COMBINED], process_processes_count);
    row_put_u64(&b.ledger.reaped, process_cpu_seconds, 6);
    leave(&b, main, false);
    assert_unknown(fold(&b), process_memory_rss_bytes);
    assert_unknown(&b.parts[PART_MAIN], process_memory_rss_bytes);
    assert_value(&b.parts[PART_COMBINED], process_cpu_seconds, 6);
    assert_value(&b.parts[PART_MAIN], process_cpu_seconds, 5);
    end(&b);
}

static void test_what_was_read_at_the_end(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    main->process.fresh = BIT(process_cpu_seconds);
    leave(&b, main, false);
    assert_true(b.ledger.main_has_left);
    assert_true(b.ledger.main_fresh == 0); /* it was still running when it was read */
    main = join(&b, 2, true);
    main->process.fresh = BIT(process_cpu_seconds);
    main->process.has_ended = true;
    leave(&b, main, false);
    assert_true(b.ledger.main_fresh == BIT(process_cpu_seconds));
    end(&b);
}

#define TICK (10 * NS_PER_MS)

/* ---- Attached targets ------------------------------------------------------------------------ */

static struct member *join_later(struct books *b, pid_t pid, uint64_t cpu, uint64_t inherited)
{
    struct member *m = members_add(&b->members, pid);
    m->targets = 1;
    m->was_seen = true;
    m->process.state = 'R';
    put(m, process_cpu_seconds, cpu, inherited);
    put(m, process_cpu_wait_seconds, cpu / 2, 0);
    ledger_join(&b->ledger, m, false);
    return m;
}

static void test_what_was_before_does_not_count(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *m = join_later(&b, 1, 1000, 300);
    assert_value(fold(&b), process_cpu_seconds, 0);
    assert_value(&b.parts[PART_COMBINED], process_cpu_wait_seconds, 0);
    put(m, process_cpu_seconds, 1010, 302);
    put(m, process_cpu_wait_seconds, 507, 0);
    assert_value(fold(&b), process_cpu_seconds, 12);
    assert_value(&b.parts[PART_COMBINED], process_cpu_wait_seconds, 7);
    leave(&b, m, true); /* to somebody outside */
    assert_value(fold(&b), process_cpu_seconds, 12);
    assert_value(&b.parts[PART_COMBINED], process_cpu_wait_seconds, 7);
    assert_true(b.ledger.losing);
    end(&b);
}

/* The main process of an attached tree has its own base. */
static void test_main_with_a_base(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = members_add(&b.members, 1);
    main->targets = main->main_of = 1;
    main->was_seen = true;
    put(main, process_cpu_seconds, 100, 40);
    put(main, process_memory_rss_bytes, 4096, 0);
    ledger_join(&b.ledger, main, false);
    put(main, process_cpu_seconds, 107, 45);
    assert_value(fold(&b), process_cpu_seconds, 12);
    assert_value(&b.parts[PART_MAIN], process_cpu_seconds, 7);
    assert_value(&b.parts[PART_DESCENDANTS], process_cpu_seconds, 5);
    assert_value(&b.parts[PART_MAIN], process_memory_rss_bytes, 4096); /* a gauge has none */
    end(&b);
}

/* The base of a parent is rounded up: what it was seen to use itself counts all the same. */
static void test_a_base_that_is_too_high(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *parent = join_later(&b, 1, 100, 60); /* it had inherited 40, or 59 */
    struct member *root = join_later(&b, 2, 10, 0);
    put(parent, process_cpu_seconds, 107, 60);
    assert_value(fold(&b), process_cpu_seconds, 7);
    leave(&b, parent, false);
    put(root, process_cpu_seconds, 10, 107 + 42);
    assert_value(fold(&b), process_cpu_seconds, 7);
    put(root, process_cpu_seconds, 10, 107 + 42 + 30);
    assert_value(fold(&b), process_cpu_seconds, 19);
    end(&b);
}

static void put_cpu(struct member *m, uint64_t cpu, uint64_t user, uint64_t system)
{
    put(m, process_cpu_seconds, cpu, 0);
    put(m, process_cpu_user_seconds, user, 0);
    put(m, process_cpu_system_seconds, system, 0);
}

static void assert_cpu(const struct row *part, uint64_t cpu, uint64_t user, uint64_t system)
{
    assert_value(part, process_cpu_seconds, cpu);
    assert_value(part, process_cpu_user_seconds, user);
    assert_value(part, process_cpu_system_seconds, system);
}

static void fold_last(struct books *b)
{
    ledger_fold(&b->ledger, &b->members, true, true, b->parts);
}

static void test_user_share(void **state)
{
    assert_int_equal(ledger_user_share(100, 60, 40, 0, 0), 60);
    assert_int_equal(ledger_user_share(100, 6, 2, 0, 0), 75); /* ticks of less than all of it */
    assert_int_equal(ledger_user_share(100, 150, 50, 0, 0), 75);
    assert_int_equal(ledger_user_share(100, 0, 2, 0, 0), 0);
    assert_int_equal(ledger_user_share(100, 2, 0, 0, 0), 100);
    assert_int_equal(ledger_user_share(100, 0, 0, 0, 0), 50);
    assert_int_equal(ledger_user_share(100, 6, 2, 80, 0), 80);
    assert_int_equal(ledger_user_share(100, 6, 2, 0, 40), 60);
    assert_int_equal(ledger_user_share(100, 6, 2, 0, 400), 0);
    assert_int_equal(ledger_user_share(0, 6, 2, 7, 0), 0);
}

/* Ticks are less than the clock says. While it runs they stand as they are: what comes to light at
 * the end must not be less than what was shown. */
static void test_user_and_system_make_the_cpu_time(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true), *child = join(&b, 2, false);
    put_cpu(main, 100, 60, 20);
    put_cpu(child, 60, 10, 40);
    assert_cpu(fold(&b), 160, 70, 60);
    assert_cpu(&b.parts[PART_MAIN], 100, 60, 20);
    fold_last(&b); /* and both live on */
    assert_cpu(&b.parts[PART_COMBINED], 160, 86, 74);
    assert_cpu(&b.parts[PART_MAIN], 100, 75, 25);
    assert_cpu(&b.parts[PART_DESCENDANTS], 60, 11, 49);
    end(&b);
}

/* What was counted at the end is not divided again, and no part of it is more than it. */
static void test_no_part_is_above_the_whole(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    put_cpu(main, 680, 670, 0);
    fold(&b);
    put_cpu(main, 683, 682, 1);
    leave(&b, main, false);
    row_put_u64(&b.ledger.reaped, process_cpu_seconds, 709);
    row_put_u64(&b.ledger.reaped, process_cpu_user_seconds, 679);
    row_put_u64(&b.ledger.reaped, process_cpu_system_seconds, 30);
    fold_last(&b);
    assert_cpu(&b.parts[PART_COMBINED], 709, 679, 30);
    assert_cpu(&b.parts[PART_MAIN], 683, 679, 4);
    assert_cpu(&b.parts[PART_DESCENDANTS], 26, 0, 26);
    end(&b);
}

/* With a base the ticks before and after may be cut differently: more of one kind than there was
 * CPU time, less at the next look. Neither falls, and both make up the CPU time. */
static void test_division_with_a_base(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = members_add(&b.members, 1);
    main->targets = main->main_of = 1;
    main->was_seen = true;
    put_cpu(main, 1019, 610, 400);
    ledger_join(&b.ledger, main, false);
    put_cpu(main, 1025, 620, 400);
    assert_cpu(fold(&b), 6, 6, 0);
    put_cpu(main, 1031, 620, 410);
    assert_cpu(fold(&b), 12, 6, 6);
    put_cpu(main, 1032, 620, 410);
    assert_cpu(fold(&b), 13, 6, 7);
    put_cpu(main, 1079, 640, 430);
    assert_cpu(fold(&b), 60, 30, 30);
    fold_last(&b);
    assert_cpu(&b.parts[PART_COMBINED], 60, 30, 30);
    assert_cpu(&b.parts[PART_MAIN], 60, 30, 30);
    assert_cpu(&b.parts[PART_DESCENDANTS], 0, 0, 0);
    end(&b);
}

/* A descendant that was never seen left its page faults: that is proof of one. */
static void test_proof_of_a_descendant(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *main = join(&b, 1, true);
    put(main, process_faults_minor_count, 100, 0);
    assert_value(fold(&b), process_processes_started_count, 1);
    assert_value(&b.parts[PART_DESCENDANTS], process_processes_started_count, 0);
    put(main, process_faults_minor_count, 120, 1);
    assert_value(fold(&b), process_processes_started_count, 2);
    assert_value(&b.parts[PART_MAIN], process_processes_started_count, 1);
    assert_value(&b.parts[PART_DESCENDANTS], process_processes_started_count, 1);
    put(join(&b, 2, false), process_faults_minor_count, 5, 0); /* it may have been this one */
    assert_value(fold(&b), process_processes_started_count, 2);
    join(&b, 3, false);
    assert_value(fold(&b), process_processes_started_count, 3);
    end(&b);
}

/* What came to light when the main process was reaped is a descendant's only if the main process
 * was read to its end. */
static void test_proof_at_the_end(void **state)
{
    for (int is_fresh = 0; is_fresh < 2; is_fresh++) {
        struct books b;
        begin(&b, false);
        struct member *main = join(&b, 1, true);
        put(main, process_faults_minor_count, 100, 0);
        main->process.has_ended = true;
        main->process.fresh = is_fresh ? BIT(process_faults_minor_count) : 0;
        leave(&b, main, false);
        row_put_u64(&b.ledger.reaped, process_faults_minor_count, 101);
        fold_last(&b);
        assert_value(&b.parts[PART_COMBINED], process_processes_started_count, 1 + is_fresh);
        assert_value(&b.parts[PART_DESCENDANTS], process_processes_started_count, is_fresh);
        end(&b);
    }
}

/* Read again before anything counts. */
static void test_rebase(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *m = join_later(&b, 1, 100, 40);
    struct process before = m->process;
    put(m, process_cpu_seconds, 103, 45);
    ledger_rebase(&b.ledger, m, &before);
    assert_value(fold(&b), process_cpu_seconds, 0);
    put(m, process_cpu_seconds, 104, 47);
    assert_value(fold(&b), process_cpu_seconds, 3);
    end(&b);
}

/* Counters that could not be read when it joined come to light in one fold or the next. */
static void test_an_unknown_base(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *parent = join_later(&b, 1, 10, 0), *hidden = join_later(&b, 2, 20, 0);
    hidden->process.denied = BIT(process_io_written_bytes) | BIT(process_memory_pss_bytes);
    put(parent, process_io_written_bytes, 500, 0);
    row_put_u64(&b.ledger.base, process_io_written_bytes, 500);
    assert_value(fold(&b), process_io_written_bytes, 0);
    uint64_t unknown = ledger_unknown_base(&b.ledger, &hidden->process);
    assert_true(unknown == BIT(process_io_written_bytes));
    leave(&b, hidden, false);
    ledger_leave_out(&b.ledger, hidden, unknown);
    put(parent, process_io_written_bytes, 510, 0);
    fold(&b);
    put(parent, process_io_written_bytes, 510, 4000);
    fold(&b);
    assert_value(&b.parts[PART_COMBINED], process_io_written_bytes, 0);
    put(parent, process_io_written_bytes, 513, 4000);
    assert_value(fold(&b), process_io_written_bytes, 3);
    assert_true(b.ledger.denied[PART_COMBINED] >> process_io_written_bytes & 1);
    end(&b);
}

/* What the main process had before is not its own either. */
static void test_an_unknown_base_of_main(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *m = members_add(&b.members, 1);
    m->targets = m->main_of = 1;
    m->was_seen = true;
    m->process.denied = BIT(process_io_written_bytes);
    ledger_join(&b.ledger, m, false);
    fold(&b);
    m->process.denied = 0;
    put(m, process_io_written_bytes, 4000, 0);
    ledger_leave_out(&b.ledger, m, BIT(process_io_written_bytes));
    assert_value(fold(&b), process_io_written_bytes, 0);
    assert_value(fold(&b), process_io_written_bytes, 0);
    put(m, process_io_written_bytes, 4005, 0);
    assert_value(fold(&b), process_io_written_bytes, 5);
    assert_value(&b.parts[PART_MAIN], process_io_written_bytes, 5);
    end(&b);
}

/* Page faults are known without what was inherited: that is no proof of them either. */
static void test_an_unknown_base_of_what_is_kept_apart(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *members[2];
    for (int i = 0; i < 2; i++) {
        struct member *m = members[i] = members_add(&b.members, i + 1);
        m->targets = 1;
        m->was_seen = true;
        if (i)
            m->process.denied = BIT(process_faults_minor_count);
        else
            put(m, process_faults_minor_count, 100, 0);
        ledger_join(&b.ledger, m, false);
    }
    assert_value(fold(&b), process_faults_minor_count, 0);
    members[1]->process.denied = 0;
    put(members[1], process_faults_minor_count, 4000, 0);
    ledger_leave_out(&b.ledger, members[1], BIT(process_faults_minor_count));
    fold(&b);
    assert_value(fold(&b), process_faults_minor_count, 0);
    put(members[1], process_faults_minor_count, 4005, 0);
    assert_value(fold(&b), process_faults_minor_count, 5);
    end(&b);
}

static void test_part_and_rejoin(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *m = join_later(&b, 1, 1000, 0);
    m->been = 1;
    put(m, process_cpu_seconds, 1050, 0);
    ledger_part(&b.ledger, m);
    m->targets = 0;
    assert_value(fold(&b), process_cpu_seconds, 50);
    put(m, process_cpu_seconds, 1500, 0); /* elsewhere */
    assert_value(fold(&b), process_cpu_seconds, 50);
    m->targets = 1;
    ledger_join(&b.ledger, m, false);
    put(m, process_cpu_seconds, 1503, 0);
    assert_value(fold(&b), process_cpu_seconds, 53);
    assert_value(&b.parts[PART_COMBINED], process_processes_started_count, 1); /* the same one */
    assert_false(b.ledger.losing);
    end(&b);
}

/* A shell inherits what its job in another group used. */
static void test_foreign(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *shell = join_later(&b, 1, 10, 0);
    struct member job = {.targets = 0};
    row_init(&job.process.own, ENTITY_PROCESS);
    job.process.inherited = (struct inherited){0};
    put(&job, process_cpu_seconds, 400, 30);
    put(shell, process_cpu_seconds, 12, 430);
    ledger_foreign(&b.ledger, &job);
    assert_value(fold(&b), process_cpu_seconds, 2);
    end(&b);
}

/* Before the parent shows what it inherited: the total does not fall below nothing. */
static void test_foreign_before_it_is_seen(void **state)
{
    struct books b;
    begin(&b, false);
    struct member *shell = join(&b, 1, false);
    put(shell, process_cpu_seconds, 12, 0);
    assert_value(fold(&b), process_cpu_seconds, 12);
    struct member job = {.targets = 0};
    row_init(&job.process.own, ENTITY_PROCESS);
    job.process.inherited = (struct inherited){0};
    put(&job, process_cpu_seconds, 400, 0);
    ledger_foreign(&b.ledger, &job);
    assert_value(fold(&b), process_cpu_seconds, 12);
    put(shell, process_cpu_seconds, 13, 400);
    assert_value(fold(&b), process_cpu_seconds, 13);
    end(&b);
}

/* Several that match, without their children. */
static void test_own_only_of_several(void **state)
{
    struct books b;
    begin(&b, true);
    struct member *one = join_later(&b, 1, 100, 50);
    struct member *two = join_later(&b, 2, 200, 60);
    put(one, process_cpu_seconds, 110, 500);
    put(two, process_cpu_seconds, 207, 600);
    assert_value(fold(&b), process_cpu_seconds, 17);
    leave(&b, one, true);
    assert_value(fold(&b), process_cpu_seconds, 17);
    put(two, process_cpu_seconds, 208, 600);
    assert_value(fold(&b), process_cpu_seconds, 18);
    leave(&b, two, true);
    assert_value(fold(&b), process_cpu_seconds, 18);
    end(&b);
}

/* Each divides its CPU time by itself; the union has their sum, or what lies within all of them. */
static void test_kinds_of_a_union(void **state)
{
    struct books b;
    struct row one, other;
    const struct row *const targets[] = {&one, &other};
    row_init(&one, ENTITY_PROCESS);
    row_init(&other, ENTITY_PROCESS);
    const struct {
        struct row *row;
        uint64_t cpu, user, system;
    } figures[] = {{&one, 90, 60, 30}, {&other, 40, 10, 30}};
    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        row_put_u64(figures[i].row, process_cpu_seconds, figures[i].cpu);
        row_put_u64(figures[i].row, process_cpu_user_seconds, figures[i].user);
        row_put_u64(figures[i].row, process_cpu_system_seconds, figures[i].system);
    }
    for (int overlap = 0; overlap < 2; overlap++) {
        begin(&b, false);
        struct member *m = join_later(&b, 1, 1000, 0);
        put_cpu(m, 1000, 500, 500);
        struct member *n = members_add(&b.members, 2);
        n->targets = 1;
        n->was_seen = true;
        put_cpu(n, 0, 0, 0);
        ledger_join(&b.ledger, n, false);
        put_cpu(n, overlap ? 100 : 130, 50, 50);
        fold(&b);
        if (overlap)
            ledger_at_least(&b.ledger, targets, 2, true, &b.parts[PART_COMBINED]);
        else
            ledger_add_up(&b.ledger, targets, 2, &b.parts[PART_COMBINED]);
        assert_cpu(&b.parts[PART_COMBINED], overlap ? 100 : 130, overlap ? 60 : 70,
                   overlap ? 40 : 60);
        assert_false(b.ledger.losing);
        ledger_hold(&b.ledger, b.parts); /* a sample does not fall for it */
        assert_value(&b.parts[PART_COMBINED], process_cpu_system_seconds, overlap ? 50 : 60);
        end(&b);
    }
}

static void test_disjoint_targets_add_up(void **state)
{
    struct books one, two, whole;
    struct books *all[] = {&one, &two, &whole};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        begin(all[i], false);
    put(join(&one, 1, false), process_cpu_seconds, 70, 0);
    put(join(&two, 2, false), process_cpu_seconds, 50, 0);
    put(join(&whole, 1, false), process_cpu_seconds, 118, 0); /* what was rounded away is missing */
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        fold(all[i]);
    const struct row *rows[] = {&one.parts[PART_COMBINED], &two.parts[PART_COMBINED]};
    ledger_add_up(&whole.ledger, rows, 2, &whole.parts[PART_COMBINED]);
    assert_value(&whole.parts[PART_COMBINED], process_cpu_seconds, 120);
    assert_unknown(&whole.parts[PART_COMBINED], process_io_read_bytes);
    assert_value(fold(&whole), process_cpu_seconds, 120); /* and is held */
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        end(all[i]);
}

/* ---- A whole life, against the truth -----------------------------------------------------------
 */

enum { SLOTS = 64, TRACKER = 0, BORN_AT_MOST = 1 << 16 };
enum { BY_ITSELF, BY_TRACKER, BY_NOBODY }; /* who has the figures of a process; else a pid */

/* The kernel's books of one process. */
struct task {
    bool alive; /* running, or a zombie */
    bool zombie;
    bool subreaper;
    bool is_init;          /* of a pid namespace, which ends with it */
    bool ignores, no_wait; /* SIG_IGN, SA_NOCLDWAIT: its children vanish */
    bool secret;           /* its io file cannot be read */
    int parent;            /* its place in the table */
    pid_t pid;
    uint64_t cpu, inherited_cpu;
    uint64_t io; /* with what it reaped, as the kernel keeps it */
    uint64_t faults, inherited_faults;
};

struct world {
    struct task tasks[SLOTS]; /* 0 is the tracker */
    uint64_t seed;
    uint64_t born;
    uint64_t cpu, io, faults; /* the truth */
    uint64_t vanished_cpu;
    pid_t held[BORN_AT_MOST]; /* by the number of the birth */
    uint64_t bookings, proofs;
    bool closing;      /* no more forks */
    bool still;        /* nothing happens */
    bool auto_reaping; /* some parents do not wait */
    unsigned vanished; /* processes, for which nobody did */
    unsigned subreapers_percent;
    struct books books;
};

static bool chance(struct world *w, unsigned percent)
{
    return random_below(&w->seed, 100) < percent;
}

static void hand_over(struct world *w, const struct task *from, struct task *to)
{
    w->held[from->pid / SLOTS] = to == &w->tasks[TRACKER] ? BY_TRACKER : to->pid;
    to->inherited_cpu += from->cpu + from->inherited_cpu;
    to->inherited_faults += from->faults + from->inherited_faults;
    to->io += from->io;
}

/* To the nearest subreaper above, and never out of its pid namespace. */
static int new_parent(const struct world *w, int pid)
{
    for (pid = w->tasks[pid].parent; pid != TRACKER; pid = w->tasks[pid].parent)
        if ((w->tasks[pid].subreaper || w->tasks[pid].is_init) && !w->tasks[pid].zombie)
            return pid;
    return TRACKER;
}

static bool is_below(const struct world *w, int pid, int ancestor)
{
    while (pid != TRACKER && pid != ancestor)
        pid = w->tasks[pid].parent;
    return pid == ancestor;
}

static void vanish(struct world *w, int pid)
{
    w->vanished++;
    w->vanished_cpu += w->tasks[pid].cpu + w->tasks[pid].inherited_cpu;
    w->tasks[pid].alive = false;
    w->held[w->tasks[pid].pid / SLOTS] = BY_NOBODY;
}

static bool is_discarded(const struct world *w, pid_t pid)
{
    while (pid > BY_NOBODY)
        pid = w->held[pid / SLOTS];
    return pid == BY_NOBODY;
}

/* The init of a pid namespace waits for those of its children that have ended. All others are
 * killed, and nobody waits for them. */
static void end_namespace(struct world *w, int init)
{
    bool is_in[SLOTS] = {false};
    for (int i = 1; i < SLOTS; i++)
        is_in[i] = w->tasks[i].alive && i != init && is_below(w, i, init);
    for (int i = 1; i < SLOTS; i++) {
        if (is_in[i] && w->tasks[i].zombie && w->tasks[i].parent == init) {
            hand_over(w, &w->tasks[i], &w->tasks[init]);
            w->tasks[i].alive = false;
        } else if (is_in[i]) {
            vanish(w, i);
        }
    }
}

static void exit_task(struct world *w, int pid)
{
    struct task *t = &w->tasks[pid];
    if (t->is_init)
        end_namespace(w, pid);
    int heir = new_parent(w, pid);
    t->zombie = true;
    for (int i = 1; i < SLOTS; i++)
        if (w->tasks[i].alive && w->tasks[i].parent == pid) {
            w->tasks[i].parent = heir;
            const struct task *p = &w->tasks[heir];
            if (w->tasks[i].zombie && heir != TRACKER && (p->ignores || p->no_wait))
                vanish(w, i);
        }
    const struct task *parent = &w->tasks[t->parent];
    if (t->parent != TRACKER && (parent->ignores || parent->no_wait))
        vanish(w, pid);
}

/* A pid is not used again within a walk, so here it never is. */
static pid_t pid_for(struct world *w, int slot)
{
    assert_true(++w->born < BORN_AT_MOST);
    return (pid_t)(w->born * SLOTS) + slot;
}

static void fork_task(struct world *w, int parent)
{
    for (int i = 1; i < SLOTS; i++) {
        if (w->tasks[i].alive)
            continue;
        w->tasks[i] = (struct task){
            .alive = true,
            .parent = parent,
            .pid = pid_for(w, i),
            .subreaper = chance(w, w->subreapers_percent),
            .is_init = w->auto_reaping && chance(w, 5),
            .secret = chance(w, 10),
            .ignores = w->auto_reaping && chance(w, 10),
            .no_wait = w->auto_reaping && chance(w, 10),
        };
        return;
    }
}

/* A little of everything happens to somebody. */
static void happen(struct world *w)
{
    int pid = (int)random_below(&w->seed, SLOTS - 1) + 1;
    struct task *t = &w->tasks[pid];
    if (!t->alive || t->zombie)
        return;
    uint64_t what = random_below(&w->seed, 100);
    if (what < 50) {
        uint64_t cpu = random_magnitude(&w->seed, 27);
        uint64_t io = random_magnitude(&w->seed, 20);
        t->cpu += cpu;
        w->cpu += cpu;
        t->io += io;
        w->io += io;
        t->faults++;
        w->faults++;
    } else if (what < 70 && !w->closing) {
        fork_task(w, pid);
    } else if (what < 85) {
        for (int i = 1; i < SLOTS; i++)
            if (w->tasks[i].alive && w->tasks[i].zombie && w->tasks[i].parent == pid) {
                hand_over(w, &w->tasks[i], t);
                w->tasks[i].alive = false;
            }
    } else if (what < (w->closing ? 100 : 92) && (pid != 1 || w->closing)) {
        exit_task(w, pid);
    }
}

static void happen_much(struct world *w)
{
    for (uint64_t n = random_below(&w->seed, 30); n; n--)
        if (!w->still)
            happen(w);
}

static uint64_t in_ticks(uint64_t ns)
{
    return ns / TICK * TICK;
}

/* As a visit reads it: false when it is gone. */
static bool visit(struct world *w, struct process *p)
{
    const struct task *t = &w->tasks[p->entity.pid % SLOTS];
    if (!t->alive || t->pid != p->entity.pid)
        return false;
    p->state = t->zombie ? 'Z' : 'R';
    p->has_ended = t->zombie;
    p->entity.parent = t->parent == TRACKER ? 1 : w->tasks[t->parent].pid;
    p->ignores_sigchld = t->ignores;
    p->is_namespace_init = t->is_init;
    row_put_u64(&p->own, process_cpu_seconds, t->cpu);
    inherited_put(&p->inherited, process_cpu_seconds, in_ticks(t->inherited_cpu));
    row_put_u64(&p->own, process_faults_minor_count, t->faults);
    inherited_put(&p->inherited, process_faults_minor_count, t->inherited_faults);
    if (t->secret)
        p->denied |= BIT(process_io_read_bytes);
    else
        row_put_u64(&p->own, process_io_read_bytes, t->io);
    return true;
}

static void welcome(struct world *w, struct member *m)
{
    m->was_seen = true;
    m->targets = 1;
    ledger_join(&w->books.ledger, m, true);
    m->inherited_base_ns = inherited_u64(&m->process.inherited, process_cpu_seconds);
}

/* What ends as a child of the tracker. */
static void reap(struct world *w)
{
    struct ledger *l = &w->books.ledger;
    for (int i = 1; i < SLOTS; i++) {
        struct task *t = &w->tasks[i];
        if (!t->alive || !t->zombie || t->parent != TRACKER)
            continue;
        struct member *m = members_find(&w->books.members, t->pid);
        if (!m)
            m = members_add(&w->books.members, t->pid);
        if (visit(w, &m->process) && !m->was_seen)
            welcome(w, m);
        hand_over(w, t, &w->tasks[TRACKER]);
        t->alive = false;
        m->gone = m->in_books = true;
        ledger_leave(l, m, false);
    }
    members_sweep(&w->books.members);
    struct row reaped;
    row_init(&reaped, ENTITY_PROCESS);
    row_put_u64(&reaped, process_cpu_seconds, w->tasks[TRACKER].inherited_cpu);
    row_put_u64(&reaped, process_faults_minor_count, w->tasks[TRACKER].inherited_faults);
    row_put_u64(&reaped, process_io_read_bytes, w->tasks[TRACKER].io);
    ledger_put_reaped(l, &reaped);
}

static void meet_children(struct world *w, int parent)
{
    for (int i = 1; i < SLOTS; i++)
        if (w->tasks[i].alive && w->tasks[i].parent == parent &&
            !members_find(&w->books.members, w->tasks[i].pid))
            members_add(&w->books.members, w->tasks[i].pid);
}

static bool read_inherited(void *context, struct member *m, struct handed_on *ret,
                           bool *ret_has_ended)
{
    struct world *w = context;
    struct process now = m->process;
    if (chance(w, 30))
        happen_much(w);
    if (!visit(w, &now))
        return false;
    ret->faults = inherited_u64(&now.inherited, process_faults_minor_count);
    ret->cpu_ns = inherited_u64(&now.inherited, process_cpu_seconds);
    *ret_has_ended = now.has_ended;
    return true;
}

static void book_departures(struct world *w)
{
    struct members *members = &w->books.members;
    struct losses l = {
        .members = members,
        .tracker = 1,
        .has_all_orphans = true,
        .ns_per_tick = TICK,
        .round = ++w->bookings,
        .read = read_inherited,
        .context = w,
    };
    for (size_t i = 0; i < members->count; i++) {
        struct member *m = members->order[i], *ancestor;
        if (!m->gone || m->in_books || !m->was_seen)
            continue;
        m->in_books = true;
        enum loss loss = losses_judge(&l, m, &ancestor);
        w->proofs += loss != LOSS_NOT_SEEN;
        /* What is called lost is in no other figure: it would count twice. */
        assert_true(loss != LOSS_OF_THIS || is_discarded(w, m->process.entity.pid));
        assert_true(loss == LOSS_NOT_SEEN || w->vanished);
        ledger_leave(&w->books.ledger, m, loss == LOSS_OF_THIS);
    }
    members_sweep(members);
}

/* The world does not stand still while it is walked over. */
static void walk(struct world *w)
{
    struct members *members = &w->books.members;
    meet_children(w, TRACKER);
    for (size_t i = 0; i < members->count; i++) {
        struct member *m = members->order[i];
        happen_much(w);
        losses_before_look(m);
        if (!visit(w, &m->process)) {
            m->gone = true;
            continue;
        }
        if (!m->was_seen)
            welcome(w, m);
        if (chance(w, 50))
            happen_much(w);
        int slot = m->process.entity.pid % SLOTS;
        if (!m->process.has_ended && w->tasks[slot].pid == m->process.entity.pid)
            meet_children(w, slot);
    }
    book_departures(w);
}

static void check_tick(struct world *w, uint64_t before[3])
{
    const struct row *all = fold(&w->books);
    uint64_t truth[] = {w->cpu, w->faults, w->io};
    enum metric_id ids[] = {process_cpu_seconds, process_faults_minor_count, process_io_read_bytes};
    for (int i = 0; i < 3; i++) {
        uint64_t value = row_u64(all, ids[i]);
        assert_true(value >= before[i]);
        assert_true(value <= truth[i]);
        before[i] = value;
        uint64_t main = row_u64(&w->books.parts[PART_MAIN], ids[i]);
        uint64_t others = row_u64(&w->books.parts[PART_DESCENDANTS], ids[i]);
        assert_true(main <= value && others <= value);
    }
    assert_true(w->books.ledger.started <= w->born);
}

/* While nothing happens, a walk finds everything, and what was handed over is where it was: the sum
 * is the truth but for what the kernel rounds, less than a tick of each process. */
static void check_still(struct world *w)
{
    w->still = true;
    reap(w);
    walk(w);
    w->still = false;
    const struct row *all = fold(&w->books);
    if (w->auto_reaping)
        return;
    assert_value(all, process_faults_minor_count, w->faults);
    assert_true(row_u64(all, process_cpu_seconds) <= w->cpu);
    assert_true(row_u64(all, process_cpu_seconds) + SLOTS * TICK > w->cpu);
}

static void live(struct world *w)
{
    uint64_t published[3] = {0};
    begin(&w->books, false);
    w->tasks[1] = (struct task){.alive = true, .parent = TRACKER, .pid = pid_for(w, 1)};
    struct member *main = members_add(&w->books.members, w->tasks[1].pid);
    main->main_of = main->root_of = 1;
    main->process.splits_io = true;
    for (unsigned tick = 0; tick < 60 || w->books.members.count; tick++) {
        assert_true(tick < 10000);
        w->closing = tick >= 50;
        happen_much(w);
        reap(w);
        walk(w);
        check_tick(w, published);
        if (tick % 4 == 0)
            check_still(w);
    }
}

static void world_begin(struct world *w, uint64_t seed, bool auto_reaping)
{
    static const unsigned subreapers_percent[] = {5, 20, 60};
    *w = (struct world){
        .seed = seed,
        .auto_reaping = auto_reaping,
        .subreapers_percent = subreapers_percent[seed % ARRAY_LEN(subreapers_percent)],
    };
}

static void test_everything_is_counted(void **state)
{
    static struct world w;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        world_begin(&w, seed, false);
        live(&w);
        const struct row *all = &w.books.parts[PART_COMBINED];
        assert_value(all, process_cpu_seconds, w.cpu);
        assert_value(all, process_faults_minor_count, w.faults);
        assert_value(all, process_io_read_bytes, w.io);
        assert_false(w.books.ledger.losing || w.books.ledger.ignoring);
        assert_int_equal(w.proofs, 0);
        end(&w.books);
    }
}

/* What nobody waits for is a loss: the total is below the truth, and it is known that it is. */
static void test_losses_are_seen(void **state)
{
    static struct world w;
    unsigned with_losses = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        world_begin(&w, seed, true);
        live(&w);
        uint64_t total = row_u64(&w.books.parts[PART_COMBINED], process_cpu_seconds);
        assert_true(total <= w.cpu);
        assert_true(total >= w.cpu - w.vanished_cpu);
        assert_true(w.vanished_cpu || !w.proofs);
        with_losses += w.proofs > 0;
        end(&w.books);
    }
    assert_true(with_losses > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_unknown),
        cmocka_unit_test(test_conserved),
        cmocka_unit_test(test_hidden_counters),
        cmocka_unit_test(test_hidden_page_tables),
        cmocka_unit_test(test_own_only),
        cmocka_unit_test(test_counters_never_fall),
        cmocka_unit_test(test_unchanged_members_are_not_summed_again),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_ignoring_is_remembered),
        cmocka_unit_test(test_kept_and_max),
        cmocka_unit_test(test_sum_of_gauges),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_once_alone),
        cmocka_unit_test(test_one_memory_of_two),
        cmocka_unit_test(test_one_memory_in_two_targets),
        cmocka_unit_test(test_gauges_of_one_round),
        cmocka_unit_test(test_all_denied),
        cmocka_unit_test(test_what_falls_at_the_end),
        cmocka_unit_test(test_gauges_end_with_the_last_process),
        cmocka_unit_test(test_what_was_read_at_the_end),
        cmocka_unit_test(test_what_was_before_does_not_count),
        cmocka_unit_test(test_main_with_a_base),
        cmocka_unit_test(test_a_base_that_is_too_high),
        cmocka_unit_test(test_user_share),
        cmocka_unit_test(test_user_and_system_make_the_cpu_time),
        cmocka_unit_test(test_no_part_is_above_the_whole),
        cmocka_unit_test(test_division_with_a_base),
        cmocka_unit_test(test_proof_of_a_descendant),
        cmocka_unit_test(test_proof_at_the_end),
        cmocka_unit_test(test_rebase),
        cmocka_unit_test(test_an_unknown_base),
        cmocka_unit_test(test_an_unknown_base_of_main),
        cmocka_unit_test(test_an_unknown_base_of_what_is_kept_apart),
        cmocka_unit_test(test_part_and_rejoin),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_foreign_before_it_is_seen),
        cmocka_unit_test(test_own_only_of_several),
        cmocka_unit_test(test_disjoint_targets_add_up),
        cmocka_unit_test(test_kinds_of_a_union),
        cmocka_unit_test(test_everything_is_counted),
        cmocka_unit_test(test_losses_are_seen),
    };
    return RUN("account/ledger", tests);
}
