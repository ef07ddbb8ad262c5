/* SPDX-License-Identifier: MIT */
#include "engine/machine.h"

#include "collect/collectors.h"
#include "engine/gpus.h"
#include "engine/membership.h"
#include "engine/outputs.h"
#include "engine/surroundings.h"

/* A little less than a second: a sample a second has everything each time. */
#define REFRESH_NS (950 * NS_PER_MS)
#define SLOW_NS    (9500 * NS_PER_MS)

static void note(void *tracker, const char *sentence)
{
    outputs_note(tracker, "%s", sentence);
}

/* Whether anybody asked for what it gives. The energy of a run with GPUs has the processors' too.
 */
static bool is_wanted(const struct toll_tracker *t, const struct collector *c)
{
    bool has_energy = t->gpus.choice.kind != GPUS_NONE && !t->replay && c == &collector_rapl;
    if (!t->run.system && !has_energy)
        return false;
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        if (kind != ENTITY_SYSTEM && (c->gives >> kind & 1) && t->selection.of[kind])
            return true;
    return c->gives_of_system & t->selection.of[ENTITY_SYSTEM];
}

void machine_open(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    measured_init(&m->system, ENTITY_SYSTEM);
    m->context = (struct collect_context){
        .root = &t->root,
        .selection = &t->selection,
        .net_pid = t->whole && !is_launched(t) ? t->whole->ledger.main : 0,
        .system = &m->system,
        .note = note,
        .note_arg = t,
        .own_child = membership_add_stranger,
    };
    if (!t->run.system)
        m->context.note = NULL; /* what nobody asked for may be missing */
    for (unsigned i = 0; i < COLLECTORS_AT_MOST && collectors[i]; i++)
        m->is_open[i] = is_wanted(t, collectors[i]) &&
                        collectors[i]->open(&m->states[i], &m->context) == 0;
}

void machine_close(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    for (unsigned i = 0; i < COLLECTORS_AT_MOST && collectors[i]; i++) {
        if (m->is_open[i])
            collectors[i]->close(m->states[i]);
        m->is_open[i] = false;
    }
    measured_list_done(&m->list);
}

static uint64_t pace(enum metric_cost cost)
{
    return cost == COST_CHEAP ? 0 : cost == COST_REFRESH ? REFRESH_NS : SLOW_NS;
}

static void collect(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    uint64_t now_ns = t->frame.mono_ns;
    if (t->run.system)
        measured_list_add(&m->list, &m->system);
    for (unsigned i = 0; i < COLLECTORS_AT_MOST && collectors[i]; i++) {
        if (!m->is_open[i] || (now_ns < m->next_ns[i] && !t->frame.last))
            continue;
        m->next_ns[i] = now_ns + pace(collectors[i]->cost);
        collectors[i]->collect(m->states[i], &m->context, &m->list);
    }
}

/* Counters of energy began with a driver, or wrap around: what they had before is not the run's. */
static bool counts_from_start(const struct toll_tracker *t, const struct measured *m)
{
    return t->options.since_start && m->entity.kind != ENTITY_GPU && m->entity.kind != ENTITY_RAPL;
}

void machine_tick(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    m->list.count = 0;
    row_init(&m->system.read, ENTITY_SYSTEM);
    collect(t);
    surroundings_tick(t);
    gpus_tick(t);
    for (size_t i = 0; i < m->list.count; i++) {
        struct measured *thing = m->list.items[i];
        if (!thing->number)
            thing->number = ++m->numbered;
        settle(thing, counts_from_start(t, thing), t->frame.mono_ns);
    }
    t->frame.machine = m->list.items;
    t->frame.machine_count = m->list.count;
}
