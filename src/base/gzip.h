/* SPDX-License-Identifier: MIT
 * Compression as gzip by zlib, which is loaded when it is asked for: neither the build nor a
 * machine has to have it. One struct gzip is used by one thread at a time. */
#pragma once

#include "base/buf.h"
#include "toll.h"

struct gzip;

/* -EOPNOTSUPP and a sentence when zlib is not there, -ENOMEM. */
int gzip_open(struct gzip **ret, struct toll_error *e);
void gzip_close(struct gzip *g); /* accepts NULL */

/* In place of what is in *ret. 0 or -ENOMEM. */
int gzip_pack(struct gzip *g, const char *data, size_t length, struct buf *ret);
