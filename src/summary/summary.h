/* SPDX-License-Identifier: MIT
 * What a run came to: statistics of every series, how each figure was obtained, how the command
 * ended, what was not as it should be. Fixed in size, whatever the length of the run. */
#pragma once

#include "metric/frame.h"
#include "metric/quality.h"
#include "summary/run_facts.h"
#include "summary/series.h"

enum { SUMMARY_NOTES = 16, SUMMARY_STILL_RUNNING = 10 };

/* A member that is left when the command has ended. */
struct survivor {
    pid_t pid;
    char name[ENTITY_NAME_BYTES];
    uint64_t cpu_ns;
    uint64_t rss_bytes;
};

struct summary {
    const struct run *run; /* borrowed */
    struct toll_end end;
    uint64_t elapsed_ns;
    struct series target[PARTS][PROCESS_METRICS];
    struct verdict verdicts[PARTS][PROCESS_METRICS];
    struct series self[SELF_METRICS];
    uint64_t denied; /* bits that permissions hid for some process at some time */
    struct survivor survivors[SUMMARY_STILL_RUNNING];
    size_t survivor_count;        /* may exceed what the array holds */
    char *notes[SUMMARY_NOTES];   /* owned sentences */
    size_t note_count;            /* may exceed what the array holds */
    struct histogram *histograms; /* owned */
};

int summary_init(struct summary *s, const struct run *run);
void summary_done(struct summary *s);

void summary_frame(struct summary *s, const struct frame *f);

/* Keep a sentence once. True when it is new and there was room. */
bool summary_note(struct summary *s, const char *sentence);

/* The run is over. */
void summary_end(struct summary *s, uint64_t elapsed_ns);

/* Whether anything is known of that figure. */
bool summary_knows(const struct summary *s, enum part part, enum metric_id id);
