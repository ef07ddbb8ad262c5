/* SPDX-License-Identifier: MIT
 * Which metrics of which entity somebody asked for, as bits. */
#pragma once

#include "metric/entity.h"

struct selection {
    uint64_t parts[PARTS];
    uint64_t of[ENTITY_KINDS];
    bool by_name; /* metrics were named; otherwise everything is meant */
};

/* globs NULL selects everything. -EINVAL and a sentence when a glob matches nothing. */
int selection_parse(struct selection *ret, const char *globs, struct toll_error *e);

/* Leaves what the other has too. */
void selection_narrow(struct selection *s, const struct selection *other);

/* The names of all that is selected, with commas between: globs that select the same. */
void selection_write(struct buf *b, const struct selection *s);

/* Process metrics that anybody needs to have read. */
uint64_t selection_wanted(const struct selection *s);
