/* SPDX-License-Identifier: MIT */
#include "metric/entity.h"

const char *part_name(enum part part)
{
    static const char *const names[PARTS] = {"combined", "main", "descendants"};
    return names[part];
}

const char *part_prefix(enum part part)
{
    static const char *const prefixes[PARTS] = {"target", "main", "descendants"};
    return prefixes[part];
}

const char *entity_name(const struct entity *e)
{
    return e->path ? e->path : e->name;
}
