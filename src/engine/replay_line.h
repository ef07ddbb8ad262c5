/* SPDX-License-Identifier: MIT
 * What a line of the script of a recorded run does. */
#pragma once

#include "engine/tracker.h"

enum { REPLAY_NAME_BYTES = 128 };

struct replay {
    int directory;
    char *text; /* owned */
    struct scan rest;
    unsigned line; /* its number, from 1 */
    struct clock clock;
    struct rusage usage;
    struct pid_io io;
    bool has_io;
};

/* The word the line begins with, cut off; empty when the line says nothing. */
void replay_line_word(struct scan *line, char ret[REPLAY_NAME_BYTES]);

/* A fact of the run, which stands before its first sample. 0, or -errno: -EBADMSG when it is not as
 * expected. */
int replay_line_fact(struct toll_tracker *t, const char *word, struct scan *line);

/* Any line. 1 when it was a sample, 0, or -errno. */
int replay_line_take(struct toll_tracker *t, struct scan line);
