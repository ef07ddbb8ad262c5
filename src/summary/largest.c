/* SPDX-License-Identifier: MIT */
#include "summary/largest.h"

#include <stdlib.h>
#include <string.h>

/* In a list: more before less; equal ones in the order of their start, so that a record that is
 * read has the same order. */
static bool largest_is_before(const struct largest_process *one, uint64_t value,
                              const struct largest_process *other, uint64_t other_value)
{
    if (value != other_value)
        return value > other_value;
    return one->start != other->start ? one->start < other->start : one->pid < other->pid;
}

static void largest_insert(struct largest_process list[LARGEST_KEPT], unsigned *count,
                           const struct largest_process *p, bool by_memory)
{
    unsigned at = *count;
    uint64_t value = by_memory ? p->peak_bytes : p->cpu_ns;
    while (at && largest_is_before(p, value, &list[at - 1],
                                   by_memory ? list[at - 1].peak_bytes : list[at - 1].cpu_ns))
        at--;
    if (at == LARGEST_KEPT)
        return;
    unsigned moved = *count - at - (*count == LARGEST_KEPT);
    memmove(&list[at + 1], &list[at], moved * sizeof *list);
    list[at] = *p;
    *count += *count < LARGEST_KEPT;
}

void largest_list(struct largest *l, const struct largest_process *p)
{
    if (p->has_peak)
        largest_insert(l->by_memory, &l->by_memory_count, p, true);
    if (p->has_cpu)
        largest_insert(l->by_cpu, &l->by_cpu_count, p, false);
}

void largest_add(struct largest *l, const struct largest_process *p)
{
    l->count++;
    largest_list(l, p);

    struct largest_program *program = NULL;
    for (unsigned i = 0; i < l->program_count && !program; i++)
        if (strcmp(l->programs[i].name, p->name) == 0)
            program = &l->programs[i];
    if (!program && l->program_count == LARGEST_PROGRAMS) {
        l->unlisted++;
        return;
    }
    if (!program) {
        program = &l->programs[l->program_count++];
        memcpy(program->name, p->name, sizeof program->name);
        program->is_complete = true;
    }
    program->count++;
    program->cpu_ns += p->cpu_ns;
    if (p->peak_bytes > program->peak_bytes)
        program->peak_bytes = p->peak_bytes;
    program->is_complete &= p->is_complete && p->has_cpu;
}

static int largest_compare_programs(const void *a, const void *b)
{
    const struct largest_program *one = *(const struct largest_program *const *)a;
    const struct largest_program *other = *(const struct largest_program *const *)b;
    if (one->cpu_ns != other->cpu_ns)
        return one->cpu_ns < other->cpu_ns ? 1 : -1;
    return strcmp(one->name, other->name);
}

unsigned largest_programs_by_cpu(const struct largest *l, const struct largest_program **sorted)
{
    for (unsigned i = 0; i < l->program_count; i++)
        sorted[i] = &l->programs[i];
    qsort(sorted, l->program_count, sizeof *sorted, largest_compare_programs);
    return l->program_count;
}
