/* SPDX-License-Identifier: MIT
 * One look at one process.
 *
 * A process is probed first: its CPU clock costs a quarter of a microsecond and shows whether it
 * did anything at all since the last look. Only those that did have their files read; the files of
 * all others are read about once a second. */
#pragma once

#include "source/proc/reader.h"

/* Has the process run since the last probe? 1 or 0, or -ESRCH. Without a clock it is always 1. */
int process_probe(struct process_reader *r, struct process_source *s, struct process *p);

/* Read the files of that depth. 0; -ESRCH when the process is gone, also when another one has its
 * pid; another error only when stat itself cannot be read. */
int process_visit(struct process_reader *r, struct process_source *s, struct process *p,
                  enum process_depth depth);

/* After process_visit has failed: whether the process lives and /proc hides it from this user
 * (hidepid). All that files would give is denied then; its CPU clock says how much CPU time it
 * had at least. */
bool process_hide(struct process_reader *r, const struct process_source *s, struct process *p);

/* Whether a process lives and /proc hides its files, though one that was opened before may be read
 * on. */
bool process_is_hidden(const struct process_reader *r, pid_t pid);

/* Memory with its sharing resolved, for the budget to decide when. 0 or -errno. */
int process_visit_slow(struct process_reader *r, struct process_source *s, struct process *p);

/* Whether the kernel lists children at all (CONFIG_PROC_CHILDREN), asked of a process that is
 * there. */
bool process_lists_children(struct process_reader *r, pid_t pid);

/* The parent of a process, as the kernel says now, or -errno. */
pid_t process_parent(struct process_reader *r, pid_t pid);

/* Whether the process is pid itself or one of those it descends from, as the kernel says now. */
bool process_is_above(struct process_reader *r, pid_t above, pid_t pid);

/* Whether a process is on its way out, or gone. */
bool process_is_leaving(struct process_reader *r, pid_t pid);

/* Parent, group, session and start of a process that is no member, into p. 0 or -errno. */
int process_identify(struct process_reader *r, struct process *p);

/* Group and session alone, without its files. 0, or -errno where that is not possible. */
int process_identify_quickly(const struct process_reader *r, struct process *p);

/* The effective user of a process. 0 or -errno. */
int process_user(struct process_reader *r, pid_t pid, uid_t *ret);

/* A command line of text as in /proc/PID/cmdline, its last byte overwritten: masked unless asked
 * otherwise, with blanks between the words, cut to 255 bytes. The caller frees it; NULL: none. */
char *process_command_of(enum command_reading how, char *text, size_t length);

/* Its command line with blanks between the words, in the reader's own buffer until the next read;
 * of what has none, its name. 0 or -errno. */
int process_command_line(struct process_reader *r, pid_t pid, char **ret);

/* Whether two processes have one memory, as after vfork: 1 or 0, or -errno: -ESRCH when one is
 * gone, -ENOSYS or -EPERM when the kernel does not say. */
int process_compare_memory(const struct process_reader *r, pid_t one, pid_t other);

/* Calls meet for every child of a process, whichever of its threads made it. 0, or -ENOENT when
 * the kernel does not have the list (CONFIG_PROC_CHILDREN). meet must not read through r. */
int process_children(struct process_reader *r, struct process_source *s, pid_t pid,
                     void (*meet)(void *arg, pid_t child), void *arg);

/* Calls meet for every process of the machine. */
int process_scan(struct process_reader *r, void (*meet)(void *arg, pid_t pid), void *arg);
