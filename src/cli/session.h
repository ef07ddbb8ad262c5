/* SPDX-License-Identifier: MIT
 * What the subcommands that measure have in common: a tracker made from the settings, with its
 * outputs and its summary. */
#pragma once

#include "cli/options.h"
#include "toll.h"

/* ==== Session ================================================================================= */

struct session {
    struct settings settings;
    struct toll_tracker *tracker;
    int first_word;      /* index of the first word after the options */
    bool writes_stdout;  /* measuring ends when its reader has gone */
    bool carries_layout; /* some output is written in the layout that was asked for */
    bool interrupted;    /* ended by a signal: the summary is wanted */
    bool finishing;      /* the summary will repeat what is noted from now on */
    bool told_failure;   /* of an output, at the end */
};

/* Reads the options and opens the outputs. 0 to go on; otherwise the exit status is in
 * *ret_status. */
int session_open(struct session *s, int argc, char **argv, int *ret_status);
void session_close(struct session *s);

/* Last sample and summary. False when something could not be written. */
bool session_finish(struct session *s, struct toll_end *ret_end);

/* Whether the reader of toll's stdout has gone, such as head in a pipeline. */
bool session_reader_is_gone(const struct session *s);

/* How a command was run. */
struct outcome {
    int status;       /* to exit with: the command's own, or why there is none */
    bool has_run;     /* otherwise the error tells why not */
    bool is_measured; /* there is a summary */
    bool interrupted; /* by Ctrl-C: to die of it is the honest end */
    int exec_errno;   /* why it could not be executed, or 0 */
    struct toll_error error;
    struct toll_end end;
};

/* Runs it to its end, with its signals, its terminal and its exit status, and hands the summary to
 * the outputs. */
void run_command(struct session *s, char **command, struct outcome *ret);

/* ==== Signals ================================================================================= */

/* Signals of a command that must not notice toll: what is sent to toll
 * reaches the command, and a command that stops at the terminal stops toll with it. */

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
