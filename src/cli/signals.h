/* SPDX-License-Identifier: MIT
 * Signals of a command that must not notice that somebody stands before it: what is sent to toll
 * reaches the command, and a command that stops at the terminal stops toll with it. */
#pragma once

#include "toll.h"

struct signals {
    int fd;              /* readable when a signal has come */
    sigset_t mask;       /* as toll found it, for the command */
    bool ignore_sigchld; /* likewise */
    bool come_to_group;  /* what is sent to toll is sent to its whole process group */
    bool interrupted;    /* Ctrl-C was pressed at the terminal */
};

/* From here on no signal interrupts or ends toll. 0 or -errno. */
int signals_open(struct signals *s);

/* End as the command did: a shell goes on with its loop unless what it waited for died of SIGINT.
 */
void signals_die_interrupted(void);

/* Pass on what has come. True when the wait for processes the command left behind should end. */
bool signals_forward(struct signals *s, struct toll_tracker *t);

/* The command has ended and outputs are waited for: what would end a program ends that wait.
 * NULL: it is over. */
void signals_end_waiting(struct toll_tracker *t);
