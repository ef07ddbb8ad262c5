/* SPDX-License-Identifier: MIT */
#include "engine/finish.h"

#include "engine/asked.h"
#include "engine/exits.h"
#include "engine/mark_intake.h"
#include "engine/outputs.h"
#include "engine/surroundings.h"
#include "engine/targets.h"
#include "engine/tick.h"
#include "engine/verdicts.h"

#include <string.h>

static void list_survivors(struct toll_tracker *t)
{
    struct summary *s = &t->summary;
    for (size_t i = 0; i < t->members.count; i++) {
        const struct process *p = &t->members.order[i]->process;
        if (p->has_ended)
            continue;
        if (s->survivor_count < SUMMARY_STILL_RUNNING) {
            struct survivor *one = &s->survivors[s->survivor_count];
            one->pid = p->entity.pid;
            memcpy(one->name, p->entity.name, sizeof one->name);
            one->cpu_ns = row_u64(&p->own, process_cpu_seconds);
            one->has_rss = row_has(&p->own, process_memory_rss_bytes);
            one->rss_bytes = row_u64(&p->own, process_memory_rss_bytes);
        }
        s->survivor_count++;
    }
}

static void note_what_is_missing(struct toll_tracker *t)
{
    const struct ledger *l = &t->whole->ledger;
    bool reaps = is_launched(t);
    if (l->denied[PART_COMBINED] & t->reader.wanted & BIT(process_storage_read_bytes))
        outputs_note(t, reaps ? "the I/O of a process of another user could not be read; it counts "
                                "once the process is reaped"
                              : "the I/O of a process of another user could not be read");
    bool lacks_pss = t->summary.whole.denied[PART_COMBINED] & t->reader.wanted &
                     BIT(process_memory_pss_bytes);
    if (lacks_pss && !t->reader.own_was_shared)
        outputs_note(
            t, "a process of another user does not show all: what is said of PSS, USS and open "
               "files may leave it out");
    uint64_t tenths = t->schedule.longest_ns / (NS_PER_SECOND / 10);
    if (t->schedule.pauses)
        outputs_note(
            t,
            "samples were skipped, for up to %llu.%llu s at a time: a sample took long, or "
            "had to wait for the CPU or for its budget; peaks are lower bounds",
            (unsigned long long)tenths / 10, (unsigned long long)tenths % 10);
    if (verdicts_has_hidden(t))
        outputs_note(t, "a process of the job still runs and could not be seen: it is missing in "
                        "the totals");
    if (l->ignoring && !l->losing)
        outputs_note(t, "a process of the job ignores SIGCHLD: children that nobody waits for may "
                        "be missing in the totals");
}

/* Of a group or a user, what a member inherits from children that nobody saw may be of others. */
static void note_unseen_children(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->members.count; i++) {
        const struct member *m = t->members.order[i];
        uint64_t inherited = left_u64(inherited_u64(&m->process.inherited, process_cpu_seconds),
                                      m->inherited_base_ns);
        if ((m->targets & t->discovery.rule_bits) && m->was_seen &&
            inherited > m->vanished_ns + 3 * t->reader.ns_per_tick) {
            outputs_note(t,
                         "process %d (%s) waited for children that lived too short to be seen: "
                         "what they used counts with it, whatever group or user they were of",
                         (int)m->process.entity.pid, m->process.entity.name);
            return; /* once is enough */
        }
    }
}

enum { STATUS_TRIES = 20, STATUS_STEP_US = 5000 };

/* The kernel tells how a process ended only after its parent has reaped it, which most do at once.
 * One that is gone without a word comes from a kernel that does not tell. */
static void wait_for_status(const struct toll_tracker *t, struct target *g)
{
    asked_how_it_ended(g);
    for (unsigned i = 0; i < STATUS_TRIES && g->end.unknown && t->root.live; i++) {
        bool was_there = kill(g->id, 0) == 0 || errno == EPERM;
        if (was_there)
            usleep(STATUS_STEP_US);
        asked_how_it_ended(g);
        if (!was_there)
            return;
    }
}

static void take_ends(struct toll_tracker *t)
{
    bool all = !is_launched(t) && targets_have_ended(t);
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        if (g->is_launched)
            g->end = t->reaper.end;
        else if (g->ended && g->end.unknown && target_has_main(g))
            wait_for_status(t, g);
        target_summary_of(t, g)->end = g->end;
    }
    if (t->whole && t->whole->is_union)
        t->summary.whole.end = (struct toll_end){
            .ended = all,
            .unknown = all,
        };
    t->summary.whole.end.timed_out = t->timeout.told;
}

void finish(struct toll_tracker *t)
{
    mark_intake_last(t);
    exits_read(t, true);
    tick(t, true);
    mark_intake_end(t);
    if (t->replay)
        t->reaper.no_children_left = !t->members.count; /* a script ends with whom it shows */
    summary_end(&t->summary, t->frame.elapsed_ns);
    take_ends(t);
    surroundings_finish(t);
    if (t->whole) {
        if (is_launched(t))
            list_survivors(t);
        note_what_is_missing(t);
        note_unseen_children(t);
    }
    verdicts_make(t, &t->summary);
    surroundings_use_limits(t, &t->summary); /* of figures that are known */
    t->settled = true;
}
