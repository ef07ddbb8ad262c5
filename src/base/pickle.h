/* SPDX-License-Identifier: MIT
 * Python's pickle for what JSON can say: objects become dictionaries, arrays lists. Reading takes
 * what was written here and nothing else: a pickle in general is a program. */
#pragma once

#include "base/buf.h"

/* The pickle of one JSON text. 0, -EBADMSG when it is none, or -ENOMEM. */
int pickle_from_json(struct buf *ret, const char *json, size_t length);

/* The JSON text of a pickle, likewise; -EOPNOTSUPP when it is a pickle of something else. */
int pickle_to_json(struct buf *ret, const char *pickle, size_t length);

/* Whether it begins as a pickle does. */
bool pickle_is_one(const char *data, size_t length);
