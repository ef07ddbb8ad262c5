/* SPDX-License-Identifier: MIT
 * Runs a command that may hang, and takes what it prints.
 *
 * A helper process starts it and waits for it, for as long as the deadline allows; then it is
 * killed. So the program around us never has it for a child, and gets no signal of its end. */
#pragma once

#include "base/scan.h"
#include "collect/gpu_vendor.h"

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
