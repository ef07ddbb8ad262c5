/* SPDX-License-Identifier: MIT
 * What a type of filesystem means for its space. */
#pragma once

#include "base/scan.h"

enum mount_class {
    MOUNT_LOCAL,
    MOUNT_MEMORY,  /* its files are memory */
    MOUNT_OVERLAY, /* shows the space of the filesystem below it once more */
    MOUNT_NETWORK,
    MOUNT_PSEUDO, /* has no space, or is full by design */
};

enum mount_class mount_class_of(struct scan type);

/* Whether asking it may take for ever: the network, and whatever a process answers for. */
bool mount_may_hang(struct scan type);

/* "local", … */
const char *mount_class_name(enum mount_class class);
