/* SPDX-License-Identifier: MIT
 * toll under the name of gpu-tracker: the same options, the same output. */
#pragma once

#include "base/text/buf.h"
#include "toll.h"

/* The tasks; each has its options. */
enum {
    TASK_EXECUTE = 1 << 0,
    TASK_COMBINE = 1 << 1,
    TASK_ANALYZE = 1 << 2,
    TASK_COMPARE = 1 << 3,
};

/* Borrowed from the command line, or owned by `kept`. NULL: not given. */
struct gpu_tracker {
    unsigned task; /* TASK_… */
    const char *execute, *output, *format;
    const char *config; /* the JSON file, of either task that has one */
    const char *sleep_time, *ram_unit, *gpu_ram_unit, *time_unit;
    const char *cores, *gpu_uuids, *gpu_brand;
    const char *tracking_file, *sub_tracking_file, *statistic;
    const char *backup;                   /* resource_usage_file of the JSON file */
    const char *disable_logs, *overwrite; /* "" when given */
    const char **paths;                   /* owned array, NULL-terminated: files to combine */
    const char **sessions;                /* likewise: NAME=FILE */
    char **kept;                          /* owned strings, NULL-terminated */
    bool help, version;
    bool shows_usage; /* the words are none that it takes */
};

/* Reads the command line and the file it names. 0, or -errno and a sentence. */
int gpu_tracker_read(struct gpu_tracker *g, int argc, char **argv, struct toll_error *e);
void gpu_tracker_done(struct gpu_tracker *g);

/* All that can be known before the command is started; -errno and a sentence. */
int gpu_tracker_check(const struct gpu_tracker *g, struct toll_error *e);

struct completion;

/* The words of the line after the name of the command. */
void gpu_tracker_complete(struct completion *c, size_t count, char **words);

void gpu_tracker_usage(struct buf *b);
void gpu_tracker_help(struct buf *b);

/* argv[0] is the name of the command. */
int gpu_tracker_main(int argc, char **argv);
