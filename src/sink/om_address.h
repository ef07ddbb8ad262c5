/* SPDX-License-Identifier: MIT
 * Where to listen: "HOST:PORT", "[::1]:PORT" or ":PORT", which is loopback. */
#pragma once

#include "toll.h"

bool om_address_is(const char *text);

/* *ret_fd is the socket. -EINVAL, -EADDRINUSE, … and a sentence. */
int om_address_listen(const char *address, int *ret_fd, struct toll_error *e);
