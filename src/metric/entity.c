/* SPDX-License-Identifier: MIT */
#include "metric/entity.h"

#include "base/util.h"

#include <string.h>

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

enum space_kind entity_space(const struct entity *e)
{
    static const struct {
        const char *class;
        enum space_kind space;
    } classes[] = {{"local", SPACE_LOCAL}, {"network", SPACE_NETWORK}, {"overlay", SPACE_OVERLAY}};
    for (size_t l = 0; e->kind == ENTITY_MOUNT && l < ENTITY_LABELS; l++)
        for (size_t i = 0; i < ARRAY_LEN(classes); i++)
            if (e->labels[l].key && strcmp(e->labels[l].key, "class") == 0 &&
                strcmp(e->labels[l].value, classes[i].class) == 0)
                return classes[i].space;
    return SPACE_NONE;
}
