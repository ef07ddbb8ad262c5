/* SPDX-License-Identifier: MIT
 * The processes that used most, and what the programs of a run used together: a table in fixed
 * memory, however many processes lived. */
#pragma once

#include "base/memory.h"
#include "metric/metric.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LARGEST_KEPT = 16, LARGEST_PROGRAMS = 256, LARGEST_COMMAND_BYTES = 256 };

/* One process as it was last seen. */
struct largest_process {
    pid_t pid;
    uint64_t start; /* in ticks of the kernel: with the pid it names one process */
    char name[ENTITY_NAME_BYTES];
    char command[LARGEST_COMMAND_BYTES]; /* secrets masked, cut to fit; "": not read */
    uint64_t cpu_ns;                     /* its own, without children that it reaped */
    uint64_t peak_bytes;                 /* the kernel's high-water mark of its resident memory */
    bool has_cpu, has_peak;
    bool is_complete; /* read at its end: otherwise its CPU time is a lower bound, as its peak
                       * always is */
};

/* All processes with one name. */
struct largest_program {
    char name[ENTITY_NAME_BYTES];
    uint64_t count;
    uint64_t cpu_ns;
    uint64_t peak_bytes; /* of the largest of them; 0: not read */
    bool is_complete;    /* so is every process of it: cpu_ns is no lower bound */
};

/* Zeroed is empty. A process is in both lists when it is among the largest of both. */
struct largest {
    struct largest_process by_memory[LARGEST_KEPT]; /* largest first */
    struct largest_process by_cpu[LARGEST_KEPT];
    unsigned by_memory_count, by_cpu_count;
    struct largest_program programs[LARGEST_PROGRAMS]; /* in the order they were first met */
    unsigned program_count;
    uint64_t unlisted; /* processes of programs beyond these */
    uint64_t count;    /* of all processes that were added */
};

/* A process has ended, or is left at the end of the run. Each is added once. */
void largest_add(struct largest *l, const struct largest_process *p);

/* The same for the lists of processes alone, of a record that has the programs beside them. */
void largest_list(struct largest *l, const struct largest_process *p);

/* The programs in the order of their CPU time, into an array of LARGEST_PROGRAMS. Returns how many
 * there are. */
unsigned largest_programs_by_cpu(const struct largest *l, const struct largest_program **sorted);
