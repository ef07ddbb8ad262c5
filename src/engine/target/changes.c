/* SPDX-License-Identifier: MIT */
#include "engine/target/changes.h"

#include "base/memory.h"

#include <string.h>

void changes_open(struct changes *c, int cgroup)
{
    c->was_tried = true;
    if (bpf_members_open(&c->source, cgroup) < 0)
        c->source = NULL;
}

void changes_close(struct changes *c)
{
    bpf_members_close(c->source);
    free(c->before);
    free(c->moved);
    *c = (struct changes){.was_tried = true};
}

static bool changes_keep(struct changes *c, const struct member_task *now, size_t count)
{
    if (!ARRAY_RESERVE(c->before, c->before_capacity, count))
        return false;
    memcpy(c->before, now, count * sizeof *now);
    c->before_count = count;
    return true;
}

bool changes_read(struct changes *c)
{
    const struct member_task *now;
    ssize_t n = c->source ? bpf_members_read(c->source, &now) : -1;
    c->moved_count = 0;
    if (n < 0) {
        c->is_settled = false;
        return false;
    }
    size_t count = (size_t)n;
    bool is_same = count == c->before_count;
    for (size_t i = 0; i < count && is_same; i++) {
        const struct member_task *a = &c->before[i], *b = &now[i];
        is_same = a->pid == b->pid && a->thread == b->thread;
        bool has_run = b->is_on_cpu || a->cpu_ns != b->cpu_ns || a->ended_ns != b->ended_ns ||
                       a->rss_pages != b->rss_pages;
        bool is_noted = c->moved_count && c->moved[c->moved_count - 1] == b->pid;
        if (!has_run || is_noted)
            continue;
        if (!ARRAY_RESERVE(c->moved, c->moved_capacity, c->moved_count + 1))
            return false;
        c->moved[c->moved_count++] = b->pid;
    }
    if (!is_same)
        c->is_settled = false;
    return changes_keep(c, now, count) && c->is_settled;
}

void changes_settle(struct changes *c, const struct members *members)
{
    size_t processes = 0, live = 0;
    if (!c->source || c->is_settled)
        return;
    for (size_t i = 0; i < c->before_count; i++) {
        if (c->before[i].pid != c->before[i].thread)
            continue;
        const struct member *m = members_find(members, c->before[i].pid);
        if (!m || !m->was_seen)
            return;
        processes++;
    }
    for (size_t i = 0; i < members->count; i++)
        live += !members->order[i]->gone && !members->order[i]->process.has_ended;
    c->is_settled = processes == live;
}
