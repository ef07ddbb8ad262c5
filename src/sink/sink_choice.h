/* SPDX-License-Identifier: MIT
 * Which format a destination is for, and where its options begin. */
#pragma once

#include "sink/sink.h"

/* Where the options of a kind begin behind a path that ends with its suffix: "run.om,every=5s"; a
 * path may have commas itself. NULL: the suffix is nowhere. */
const char *sink_options_behind(const struct sink_kind *kind, const char *path);
