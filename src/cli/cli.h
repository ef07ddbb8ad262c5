/* SPDX-License-Identifier: MIT
 * The command: one file for each subcommand, on top of the public library. */
#pragma once

#include "base/text/buf.h"
#include "toll_compat.h"

/* What toll exits with when it could not do its part. */
enum { EXIT_TOLL = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

/* Which subcommands an option is for. */
enum {
    FOR_RUN = 1 << 0,
    FOR_ATTACH = 1 << 1,
    FOR_SYSTEM = 1 << 2,
    FOR_MEASURING = FOR_RUN | FOR_ATTACH | FOR_SYSTEM,
    FOR_EXPORT = 1 << 3, /* from here on what reads records: told on the command line alone */
    FOR_LIST = 1 << 4,
};

struct subcommand {
    const char *name;
    const char *arguments;              /* as in a synopsis */
    const char *help;                   /* one line */
    int (*main)(int argc, char **argv); /* argv[0] is the subcommand */
    bool hidden;
    unsigned options; /* FOR_…, 0: it has none of the table */
    const char *more; /* lines for its page of help, or NULL */
    const char *then; /* "WORD NEXT NEXT…": what may stand behind a word of its own, or NULL */
};

/* THE list of subcommands; ends with a row whose name is NULL. */
extern const struct subcommand subcommands[];

/* NULL when there is none of that name. */
const struct subcommand *subcommand_by_name(const char *name);

int run_main(int argc, char **argv);
int attach_main(int argc, char **argv);
int system_main(int argc, char **argv);
int replay_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int mark_main(int argc, char **argv);
int export_main(int argc, char **argv);
int list_main(int argc, char **argv);
int metrics_main(int argc, char **argv);
int layouts_main(int argc, char **argv);
int sinks_main(int argc, char **argv);
int phases_main(int argc, char **argv);
int send_main(int argc, char **argv);
int completion_main(int argc, char **argv);
int help_main(int argc, char **argv);

/* The words that toll doctor takes. */
void doctor_add_help(struct buf *b);

/* "toll: sentence" on stderr; returns 125. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The text on stdout; frees it. Returns 0, or 125 and a sentence when it cannot be written. */
int print(struct buf *b);
