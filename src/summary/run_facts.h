/* SPDX-License-Identifier: MIT
 * The facts of a run that do not change while it goes. */
#pragma once

#include "toll.h"

struct run {
    char *name;     /* owned */
    bool is_named;  /* by the user, not after the command */
    char **command; /* owned, NULL behind the last; NULL when there is none */
    char **labels;  /* owned "key=value", NULL behind the last; or NULL */
    char host[65];
    char kernel[65];
    unsigned cpus; /* that may be used */
    pid_t pid;     /* of the main process */
    uint64_t start_real_ns;
    uint64_t interval_ns; /* 0 = auto */
    bool no_children;
};

/* Copies; 0 or -ENOMEM. */
int run_set_command(struct run *r, char *const argv[]);
int run_set_labels(struct run *r, const char *const labels[]);

void run_done(struct run *r);
