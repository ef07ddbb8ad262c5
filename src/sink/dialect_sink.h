/* SPDX-License-Identifier: MIT
 * Formats in a dialect: the same files with another tool's columns. */
#pragma once

#include "sink/sink.h"

/* The kind that writes a format in a dialect, or -EINVAL and a sentence. */
int sink_choose_dialect(const struct sink_kind *kind, const struct dialect_choice *choice,
                        const struct sink_kind **ret, struct toll_error *e);
