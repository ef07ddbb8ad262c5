/* SPDX-License-Identifier: MIT
 * Which descriptors a program has open, to tell those that a library opens later from its own. */
#pragma once

#include <stddef.h>

struct open_files {
    int *fds; /* owned, rising */
    size_t count;
};

/* Those that are open now. Where they cannot be listed there are none, and nothing will be hidden.
 */
void open_files_note(struct open_files *f);

/* How many are open now; 0 where they cannot be listed. */
size_t open_files_count(void);

/* What was opened since then is not inherited by the programs that this one starts. */
void open_files_hide_new(const struct open_files *f);
void open_files_done(struct open_files *f);
