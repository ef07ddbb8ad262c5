/* SPDX-License-Identifier: MIT
 * The phases that are open. A phase is known by its name and the process that began it; begun again
 * before its end it is one level deeper, and ends with the last level. */
#pragma once

#include "parse/mark_text.h"
#include "summary/phase_figures.h"

enum { PHASES_AT_MOST = 4096 };

/* Whose figures a phase has. */
enum phase_scope {
    SCOPE_UNKNOWN, /* not looked at yet */
    SCOPE_PROCESS, /* the process that began it, with its descendants */
    SCOPE_TARGET,  /* all of the target: its main process began it, or one that is no member */
};

struct phase {
    char *name;       /* owned */
    char *attributes; /* owned, words of a mark; NULL: none */
    pid_t pid;
    bool told_for;        /* somebody else said the beginning for that process */
    uint64_t start_ticks; /* of that process, once it was looked at */
    unsigned depth;
    uint64_t begin_ns, end_ns;
    bool not_ended; /* the run was over first */
    enum phase_scope scope;
    bool process_left;   /* while the phase was open */
    bool by_main;        /* a main process of a target began it … */
    uint64_t target_bit; /* … of this one; 0: all targets count */
    struct phase_figures of_process;
    struct phase_figures of_target;
};

struct phases {
    struct phase **open; /* owned, in the order of their beginning */
    size_t count;
    size_t capacity;
};

void phases_done(struct phases *p);
void phase_free(struct phase *p);

/* 0 and a new phase; 1 when it is open already and is now one level deeper; -ENOSPC, -ENOMEM. */
int phases_begin(struct phases *p, const char *name, pid_t pid, uint64_t at_ns, struct phase **ret);

/* Whether such a phase is open that was begun for that process, not by itself: that of a shell. */
bool phases_was_told_for(const struct phases *p, const char *name, pid_t pid);

/* Whether the process that began the phase is not there any more. */
struct phase_owner {
    bool (*has_left)(const void *context, const struct phase *p);
    const void *context;
};

/* The phase of that process, otherwise the newest of that name whose process has left: another
 * shell of the same recipe may have begun it. One that goes on elsewhere is not touched. 0 and the
 * phase, which the caller frees; 1 when a level is left; -ENOENT. */
int phases_end(struct phases *p, const char *name, pid_t pid, uint64_t at_ns,
               const struct phase_owner *owner, struct phase **ret);

/* The oldest one, ended because the run is over; the caller frees it. NULL when none is open. When
 * its process left before, it ended no later than that: with the last look at it, at which it had
 * used at least so much. */
struct phase *phases_cut(struct phases *p, uint64_t at_ns);

/* Whether the figures are those of the target. When the process has left and another one said the
 * end, what followed went on elsewhere in the job. */
bool phase_is_of_target(const struct phase *p);

/* … although it was not the target's main process that began it. */
bool phase_is_widened(const struct phase *p);
const struct phase_figures *phase_figures(const struct phase *p);

/* Something that the job said of itself. */
struct told_mark {
    enum mark_kind kind; /* of a phase: its end */
    const char *name;
    pid_t pid;
    uint64_t elapsed_ns;       /* when it was said */
    uint64_t start_ns;         /* of the run, on the clock of the phase */
    double value;              /* of a gauge */
    struct scan attributes;    /* for mark_text_attribute */
    const struct phase *phase; /* borrowed, NULL: it is none */
};
