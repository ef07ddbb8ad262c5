/* SPDX-License-Identifier: MIT
 * Runs a command that may hang, and takes what it prints.
 *
 * A helper process starts it and waits for it, for as long as the deadline allows; then it is
 * killed. So the program around us never has it for a child, and gets no signal of its end. */
#pragma once

#include "base/text/scan.h"
#include "source/gpu/vendor.h"

/* ==== Smi command ============================================================================= */

enum { SMI_PATH_BYTES = 512, SMI_TEXT_BYTES = 65536, SMI_ARGUMENTS = 16 };

struct smi_answer;

struct smi_command {
    char path[SMI_PATH_BYTES];
    struct gpu_helpers *helpers; /* borrowed */
    pid_t helper;
    int fd;                    /* to the helper, or -1 */
    uint64_t serial;           /* of what was asked last … */
    bool is_waiting;           /* … and whether the answer is due */
    struct smi_answer *answer; /* owned: the last one */
};

/* The command of that name in the directories of PATH, by its whole path. 0 or -ENOENT. */
int smi_command_find(const char *name, char ret[SMI_PATH_BYTES]);

/* Starts the helper. 0 or -errno. */
int smi_command_open(struct smi_command *c, const char *path, struct gpu_helpers *helpers);

/* Accepts what was never opened, if it is cleared. */
void smi_command_close(struct smi_command *c);

/* Runs the command with these arguments, NULL behind the last. Its exit status, 128+N when signal N
 * ended it; -ETIME when it was late, -ENOENT when it cannot be executed, -EPIPE when the helper is
 * gone. *ret_text is what it printed, the first 64 KiB, until the next call. */
int smi_command_run(struct smi_command *c, const char *const *arguments, unsigned deadline_ms,
                    struct scan *ret_text);

/* ==== Smi pace ================================================================================ */

/* How often a command is run: it costs more than all the rest of a look. In between, what it said
 * last holds. */

struct smi_pace {
    struct gpu_frame kept; /* what was read last, as the only vendor's */
    uint64_t next_ns;      /* when it may be read again */
};

bool smi_pace_is_due(const struct smi_pace *p, uint64_t now_ns);

/* It was read, and took from then until then. */
void smi_pace_took(struct smi_pace *p, uint64_t began_ns, uint64_t ended_ns);

/* Adds what is kept to a frame. */
void smi_pace_copy(const struct smi_pace *p, struct gpu_frame *f);
void smi_pace_done(struct smi_pace *p);

/* ==== Smi table =============================================================================== */

/* Tables that nvidia-smi, amd-smi and rocm-smi print: with commas between, or with blanks. Columns
 * move between versions, so they are found by the names in the heading. */

enum { SMI_COLUMNS = 64 };

struct smi_cells {
    struct scan cells[SMI_COLUMNS];
    unsigned count;
};

/* Cells of a line with commas between, blanks at their ends cut off. Those beyond the most are left
 * out. */
void smi_cells_of_csv(struct scan line, struct smi_cells *ret);

/* … of one with blanks between; the # that begins a heading is no cell. */
void smi_cells_of_words(struct scan line, struct smi_cells *ret);

/* The place of the column that has one of the names, with | between, or -1. A unit in brackets
 * behind a name does not count: "memory.used [MiB]". */
int smi_column(const struct smi_cells *heading, const char *names);

/* The value of a column as a number, as text. False when the column is not there, or it has no
 * value:
 * -, N/A, [N/A], [Not Supported], [Unknown Error] and whatever else is no number. */
bool smi_number(const struct smi_cells *row, int column, double *ret);
bool smi_whole(const struct smi_cells *row, int column, uint64_t *ret);
bool smi_word(const struct smi_cells *row, int column, char *ret, size_t capacity);

/* 00000000:3B:00.0 as the kernel writes it, 0000:3b:00.0, in place. */
void smi_fold_pci(char *pci);

/* An nvidia-smi that does not know a field says so: takes it out of the list, with commas between.
 * False when it is not in there, or that was not what it said. */
bool smi_drop_field(char *fields, struct scan text);
