/* SPDX-License-Identifier: MIT
 * Where to listen: "HOST:PORT", "[::1]:PORT" or ":PORT", which is loopback. */
#pragma once

#include "toll.h"

bool om_address_is(const char *text);

/* Whether its port is 0: any that is free, as the kernel chooses. */
bool om_address_has_any_port(const char *text);

/* *ret_fd is the socket. -EINVAL, -EADDRINUSE, … and a sentence. */
int om_address_listen(const char *address, int *ret_fd, struct toll_error *e);

/* Where a socket really listens: "127.0.0.1:40123", "[::1]:40123". False: it cannot be found out. */
bool om_address_name(int fd, char *ret, size_t capacity);
