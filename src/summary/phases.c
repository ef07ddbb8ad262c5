/* SPDX-License-Identifier: MIT */
#include "summary/phases.h"

void phase_free(struct phase *p)
{
    if (!p)
        return;
    free(p->name);
    free(p->attributes);
    free(p);
}

void phases_done(struct phases *p)
{
    for (size_t i = 0; i < p->count; i++)
        phase_free(p->open[i]);
    free(p->open);
    *p = (struct phases){0};
}

/* The index behind the newest one of that name and process; 0: there is none. */
static size_t find(const struct phases *p, const char *name, pid_t pid, bool alive)
{
    for (size_t i = p->count; i; i--) {
        const struct phase *one = p->open[i - 1];
        if (one->pid == pid && !(alive && one->process_left) && strcmp(one->name, name) == 0)
            return i;
    }
    return 0;
}

/* … of that name that nobody is left to end. */
static size_t find_abandoned(const struct phases *p, const char *name,
                             const struct phase_owner *owner)
{
    for (size_t i = p->count; i; i--) {
        const struct phase *one = p->open[i - 1];
        if (strcmp(one->name, name) == 0 &&
            (one->process_left || owner->has_left(owner->context, one)))
            return i;
    }
    return 0;
}

static struct phase *take_out(struct phases *p, size_t at, uint64_t at_ns)
{
    struct phase *one = p->open[at];
    memmove(&p->open[at], &p->open[at + 1], (p->count - at - 1) * sizeof *p->open);
    p->count--;
    one->end_ns = max_u64(at_ns, one->begin_ns);
    return one;
}

static int make_room(struct phases *p)
{
    if (p->count == PHASES_AT_MOST)
        return -ENOSPC;
    if (p->count < p->capacity)
        return 0;
    size_t capacity = p->capacity ? 2 * p->capacity : 8;
    struct phase **longer = realloc(p->open, capacity * sizeof(struct phase *));
    if (!longer)
        return -ENOMEM;
    p->open = longer;
    p->capacity = capacity;
    return 0;
}

int phases_begin(struct phases *p, const char *name, pid_t pid, uint64_t at_ns, struct phase **ret)
{
    size_t at = find(p, name, pid, true); /* another one may have the pid now */
    if (at) {
        p->open[at - 1]->depth++;
        return 1;
    }
    int r = make_room(p);
    if (r < 0)
        return r;
    struct phase *one = calloc(1, sizeof *one);
    char *copy = strdup(name);
    if (!one || !copy) {
        free(one);
        free(copy);
        return -ENOMEM;
    }
    one->name = copy;
    one->pid = pid;
    one->depth = 1;
    one->begin_ns = at_ns;
    phase_figures_init(&one->of_process);
    phase_figures_init(&one->of_target);
    p->open[p->count++] = *ret = one;
    return 0;
}

bool phases_was_told_for(const struct phases *p, const char *name, pid_t pid)
{
    size_t at = find(p, name, pid, false); /* it may have left since */
    return at && p->open[at - 1]->told_for;
}

int phases_end(struct phases *p, const char *name, pid_t pid, uint64_t at_ns,
               const struct phase_owner *owner, struct phase **ret)
{
    size_t own = find(p, name, pid, false);
    size_t at = own ? own : find_abandoned(p, name, owner);
    if (!at)
        return -ENOENT;
    struct phase *one = p->open[at - 1];
    if (--one->depth)
        return 1;
    /* The process may have said the end and left before anybody looked. */
    one->process_left = !own;
    *ret = take_out(p, at - 1, at_ns);
    return 0;
}

struct phase *phases_cut(struct phases *p, uint64_t at_ns)
{
    if (!p->count)
        return NULL;
    struct phase *one = p->open[0];
    bool died = one->scope == SCOPE_PROCESS && one->process_left;
    take_out(p, 0, died ? one->of_process.last_ns : at_ns);
    one->not_ended = true;
    if (died)
        phase_figures_miss(&one->of_process);
    return one;
}

bool phase_is_of_target(const struct phase *p)
{
    return p->scope != SCOPE_PROCESS || (p->process_left && !p->not_ended);
}

bool phase_is_widened(const struct phase *p)
{
    return p->scope != SCOPE_UNKNOWN && !p->by_main && phase_is_of_target(p);
}

const struct phase_figures *phase_figures(const struct phase *p)
{
    return phase_is_of_target(p) ? &p->of_target : &p->of_process;
}
