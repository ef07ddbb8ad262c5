/* SPDX-License-Identifier: MIT
 * Python's pickle, as data. Writing: what JSON can say, objects become dictionaries, arrays lists.
 * Reading: nothing of a pickle is ever run. Its opcodes build a tree of values; of classes and
 * functions only the names are kept, and those whose data is known (gpu_tracker's and toll's data
 * classes, tables of pandas, arrays of numpy) become JSON. Everything else is refused by name. */
#pragma once

#include "base/text/buf.h"
#include "toll.h"

/* The pickle of one JSON text. 0, -EBADMSG when it is not JSON, or -ENOMEM. */
int pickle_from_json(struct buf *ret, const char *json, size_t length);

/* The same with instances of Python classes instead of dictionaries where class_of names a class:
 * it gets the key of an object, "" for the outermost, and the key of its first member. */
struct pickle_classes {
    const char *module;
    const char *(*class_of)(const char *key, const char *first);
};
int pickle_from_json_as(struct buf *ret, const char *json, size_t length,
                        const struct pickle_classes *classes);

/* The JSON text of a pickle. -EBADMSG when it is not a pickle, damaged, or too large; -EOPNOTSUPP
 * and the name of what it holds that is not data; -ENOMEM. The sentence has no path in it. */
int pickle_to_json(struct buf *ret, const char *pickle, size_t length, struct toll_error *e);

/* Whether it begins as a pickle does. */
bool pickle_is_one(const char *data, size_t length);
