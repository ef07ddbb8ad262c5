/* SPDX-License-Identifier: MIT
 * What the subcommands that measure have in common: a tracker made from the settings, with its
 * outputs and its summary. */
#pragma once

#include "cli/options.h"
#include "toll.h"

/* ==== Live ==================================================================================== */

/* A status on the terminal; see live.c. All 0: there is none. */
struct live {
    int lines;    /* where the output "status" goes */
    int control;  /* -1: the terminal was left */
    pid_t helper; /* 0: nothing is shown */
};

/* Before the command is started. has_terminal: toll starts no command, and prints nothing to the
 * terminal until the end; otherwise that is so if stdout and stderr are files. -errno and the
 * reason when nothing can be shown here; there is nothing to close then. */
int live_open(struct live *l, bool has_terminal, const char **ret_why);

/* Leaves the terminal as it was. Its output may still be written to. */
void live_end(struct live *l);
void live_close(struct live *l);

/* ==== Session ================================================================================= */

struct session {
    struct settings settings;
    struct toll_tracker *tracker;
    struct live live;
    int first_word;       /* index of the first word after the options */
    bool writes_stdout;   /* measuring ends when its reader has gone */
    bool carries_layout;  /* some output is written in the layout that was asked for */
    bool interrupted;     /* ended by a signal: the summary is wanted */
    bool finishing;       /* the summary will repeat what is noted from now on */
    bool failure_printed; /* of an output, at the end */
    const bool *appends;  /* borrowed; of each of the outputs: it is one more run in a file that an
                             earlier one of this command wrote. NULL: none */
    struct toll_gate *gate; /* owned; of --fail-if, or NULL */
    char **noted; /* owned; sentences that were printed, for runs that would repeat them */
};

/* Reads the options. 0 to go on; otherwise the exit status is in *ret_status. */
int session_read(struct session *s, int argc, char **argv, int *ret_status);

/* Makes a tracker and opens the outputs, as the settings have them. 0 or -errno and a sentence. */
int session_start(struct session *s, struct toll_error *e);

/* The end of what session_start began; another may follow. */
void session_stop(struct session *s);

/* Reads the options and opens the outputs. 0 to go on; otherwise the exit status is in
 * *ret_status. */
int session_open(struct session *s, int argc, char **argv, int *ret_status);
void session_close(struct session *s);

/* Where the summary goes, if there is one: false, or -errno and a sentence. */
int session_summary_output(const struct session *s, struct toll_output *ret, struct toll_error *e);

/* After the last run: prints what --fail-if has found, and returns the exit status: 1 instead of 0
 * when a condition holds. Runs are added with toll_gate_add(s->gate, s->tracker). */
int session_judge(struct session *s, int status);

/* The same for some of several groups of runs, with the name of the group in front unless it is
 * empty: sentences are appended to the list for a caller that prints them later. Other runs may
 * follow. */
int session_judge_group(struct session *s, const char *group, int status, char ***sentences);

/* Last sample and summary. False when something could not be written. */
bool session_finish(struct session *s, struct toll_end *ret_end);

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

struct signals;

/* Runs it to its end, with its signals, its terminal and its exit status, and hands the summary to
 * the outputs. */
void run_command(struct session *s, char **command, struct outcome *ret);

/* The same when the signals are held already. */
void run_command_held(struct session *s, struct signals *signals, char **command,
                      struct outcome *ret);

/* toll run with --runs and the like: runs the command as often as the settings want, and returns
 * the exit status. *ret_interrupted: by Ctrl-C. */
int repeat_command(struct session *s, char **command, bool *ret_interrupted);

/* ==== Signals ================================================================================= */

/* Signals of a command that must not notice toll: what is sent to toll
 * reaches the command, and a command that stops at the terminal stops toll with it. */

struct signals {
    int fd;              /* readable when a signal has come */
    sigset_t mask;       /* as toll found it, for the command */
    bool ignore_sigchld; /* likewise */
    bool come_to_group;  /* what is sent to toll is sent to its whole process group */
    bool interrupted;    /* Ctrl-C was pressed at the terminal */
    int ended_by;        /* the first signal that would have ended toll; 0: none */
};

/* From here on no signal interrupts or ends toll. 0 or -errno. */
int signals_open(struct signals *s);

/* Between two commands: after the end of the first, signals may reach toll again
 * (signals_end_waiting). From here on they are held as before, and what came meanwhile is known. */
void signals_hold_again(struct signals *s);

/* End as the command did: a shell goes on with its loop unless what it waited for died of SIGINT.
 */
void signals_die_interrupted(void);

/* Pass on what has come. True when the wait for processes the command left behind should end. */
bool signals_forward(struct signals *s, struct toll_tracker *t);

/* The same for a process that is not measured. */
void signals_forward_to(struct signals *s, pid_t process);

/* The command has ended and outputs are waited for: what would end a program ends that wait.
 * NULL: it is over. */
void signals_end_waiting(struct toll_tracker *t);
