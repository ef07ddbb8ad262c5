/* SPDX-License-Identifier: MIT
 * Asks filesystems that may never answer how full they are.
 *
 * statvfs of a filesystem whose server is gone sleeps in the kernel, possibly for ever, and no
 * signal wakes it. So a process of our own sleeps there: questions go to it through a socket, all
 * at once, and answers are taken when they have come. The one it does not answer in time is the one
 * it is stuck in. Another helper is asked about the rest, up to SPACE_HELPERS in all; a helper that
 * comes back is used again. Nothing here ever waits. */
#pragma once

#include "collect/space_helper.h"

enum { SPACE_HELPERS = 4 };

struct space_helper {
    pid_t pid;
    int fd; /* -1: not running */
    uint64_t heard_ns;
    bool is_stuck;
};

struct space_question {
    const char *path; /* borrowed */
    /* Out: */
    bool has_answer; /* error and space are those of the last answer, which is no old one */
    bool is_late;    /* the filesystem does not answer */
    int error;       /* 0 or -errno of statvfs */
    struct space space;
    /* The asker's: */
    struct space_question *next;
    struct space_helper *helper; /* who has been asked, or NULL */
    uint64_t serial;             /* of what was asked last */
    uint64_t asked_ns;
    bool is_open; /* it is to be asked at every round */
};

struct space_asker {
    statvfs_function *statvfs;
    uint64_t deadline_ns;
    struct space_question *first; /* borrowed, those that were ever open */
    struct space_helper helpers[SPACE_HELPERS];
    unsigned started;
    uint64_t serial;
    void (*own_child)(void *arg, pid_t pid); /* told of a new helper; may be NULL */
    void *arg;
};

void space_asker_init(struct space_asker *a, statvfs_function *ask);

/* Ends the helpers, and waits some milliseconds for that at most. */
void space_asker_done(struct space_asker *a);

/* From now on the question is asked at every round, or no longer. */
void space_asker_open(struct space_asker *a, struct space_question *q, bool is_open);

/* Takes answers, finds out who is late, asks what has to be asked again. */
void space_asker_round(struct space_asker *a, uint64_t now_ns);

/* Takes the answers that have come. */
void space_asker_take(struct space_asker *a, uint64_t now_ns);
