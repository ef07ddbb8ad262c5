/* SPDX-License-Identifier: MIT
 * A file uevent of /sys: who a device is, on lines KEY=value. */
#pragma once

#include "base/scan.h"

/* The value of the key, as text in ret. 0; -ENODATA when it is not there; -EBADMSG when it is
 * empty, does not fit, or has control characters in it. */
int parse_uevent(struct scan text, const char *key, char *ret, size_t capacity);
