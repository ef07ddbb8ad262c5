/* SPDX-License-Identifier: MIT */
#include "engine/rules.h"

#include "collect/cgroup.h"

#include <string.h>

uint64_t rules_that_cost(const struct toll_tracker *t)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < t->target_count; i++)
        if (t->targets[i].kind == TOLL_TARGET_USER)
            bits |= t->targets[i].bit;
    return bits;
}

static bool belongs(const struct target *g, const struct process *p, uid_t user)
{
    uint32_t known;
    switch (g->kind) {
    case TOLL_TARGET_GROUP: return p->group == g->id;
    case TOLL_TARGET_SESSION: return p->session == g->id;
    case TOLL_TARGET_USER: return user == g->user;
    case TOLL_TARGET_CGROUP: return map_get(&g->in_cgroup, (uint32_t)p->entity.pid, &known);
    case TOLL_TARGET_PROCESS:
    case TOLL_TARGET_MATCH: break;
    }
    return false;
}

uint64_t rules_of(struct toll_tracker *t, const struct process *p, uint64_t present, bool dear)
{
    uint64_t costly = rules_that_cost(t);
    uint64_t asked = t->discovery.rule_bits & ~(dear ? 0 : costly);
    uid_t user = (uid_t)-1;
    uint64_t bits = 0;
    if ((asked & costly) && process_user(&t->reader, p->entity.pid, &user) < 0)
        bits = present & asked & costly; /* not to be asked is not to have left */
    for (size_t i = 0; i < t->target_count; i++)
        if ((t->targets[i].bit & asked) && belongs(&t->targets[i], p, user))
            bits |= t->targets[i].bit;
    return bits;
}

/* A shell, sudo or timeout that started toll has the expression on its own command line. The first
 * process of all is above everybody, and meant when it matches. */
static bool has_started_us(struct toll_tracker *t, pid_t pid)
{
    return pid != 1 && !t->discovery.with_tracker &&
           process_is_above(&t->reader, pid, t->discovery.tracker_pid);
}

uint64_t rules_matching(struct toll_tracker *t, pid_t pid)
{
    uint64_t bits = 0;
    char *line = NULL;
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        if (!g->has_regex)
            continue;
        if (!line && process_command_line(&t->reader, pid, &line) < 0)
            return 0;
        if (regexec(&g->regex, line, 0, NULL, 0) == 0)
            bits |= g->bit;
    }
    return bits && has_started_us(t, pid) ? 0 : bits;
}

struct cgroup_question {
    struct toll_tracker *t;
    struct target *g;
    void (*meet)(void *tracker, pid_t pid);
};

static void meet_in_cgroup(void *arg, pid_t pid)
{
    const struct cgroup_question *q = arg;
    map_put(&q->g->in_cgroup, (uint32_t)pid, 1);
    q->meet(q->t, pid);
}

void rules_ask_cgroups(struct toll_tracker *t, void (*meet)(void *tracker, pid_t pid))
{
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        if (!g->cgroup)
            continue;
        map_clear(&g->in_cgroup);
        struct cgroup_question q = {.t = t, .g = g, .meet = meet};
        cgroup_each_pid(g->cgroup, meet_in_cgroup, &q);
    }
}
