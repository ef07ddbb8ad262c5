/* SPDX-License-Identifier: MIT
 * The facts of a run that do not change while it goes. */
#pragma once

#include "base/rank.h"
#include "base/uuid.h"
#include "toll.h"

/* One of the things a run was attached to. */
struct run_target {
    char *name;  /* owned */
    char *what;  /* owned: "process 1234 (make) and its descendants" */
    pid_t pid;   /* of its main process, 0: there is none */
    pid_t group; /* the process group that it is, or its main process is in; 0: not known */
};

struct run {
    char id[UUID_BYTES];  /* its own; "": of a record from before runs had one */
    struct batch_job job; /* that it is a part of … */
    char rank[16];        /* … and which one of a parallel job; "": it is none */
    char *name;           /* owned */
    char *version;        /* owned, of the toll that measured; NULL: this one */
    char *metrics;        /* owned globs: only these were asked for; NULL: all */
    char **command;       /* owned, NULL behind the last; NULL when there is none */
    char **labels;        /* owned "key=value", NULL behind the last; or NULL */
    char host[65];
    char kernel[65];
    unsigned cpus;              /* that may be used … */
    unsigned online_cpus;       /* … and that the machine has; 0: not known */
    pid_t own_pid;              /* of the toll that measured; 0: not known */
    pid_t pid;                  /* of the main process, 0: there is none … */
    uid_t uid;                  /* … whose it is … */
    bool has_uid;               /* … where /proc shows it, not of a record … */
    pid_t group;                /* … and its process group; of a group: that; 0: not known */
    struct run_target *targets; /* owned; what was attached to, none for a command */
    size_t target_count;
    bool shows_secrets; /* its words are kept as they are … */
    bool no_args;       /* … and of its command the program's name alone */
    bool since_start;   /* counters count from the birth of the processes and of the machine */
    bool system;        /* the machine is measured too */
    bool network;       /* … and the network of the target */
    bool gpus;          /* GPUs are read, whether or not they have answered yet … */
    bool gpus_awaited;  /* … some that are meant may be missing: a driver has not begun yet */
    bool gpus_unread;   /* … they are there, but were not asked for */
    unsigned gpu_count; /* … and how many the machine has, as far as they have; chosen or not */
    bool gpus_untold;   /* of a record that does not tell whether they were */
    uint64_t start_real_ns;
    uint64_t interval_ns; /* 0 = auto */
    bool no_children;
};

/* Copies, in which what looks like a secret is masked unless shows_secrets is set (base/secrets.h):
 * no other part of the program sees it. 0 or -ENOMEM. */
int run_set_name(struct run *r, const char *name);
int run_set_command(struct run *r, char *const argv[]);
int run_set_labels(struct run *r, const char *const labels[]);

/* The same for words that are there already, of a record. 0 or -ENOMEM. */
int run_mask_secrets(struct run *r);

/* Whether somebody gave it a name other than the command's. */
bool run_is_named(const struct run *r);

int run_add_target(struct run *r, const char *name, const char *what);

void run_done(struct run *r);
