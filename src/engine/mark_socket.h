/* SPDX-License-Identifier: MIT
 * Where the marks of a command arrive: a socket in a directory that only the user can enter. */
#pragma once

#include "engine/environment.h"
#include "toll.h"

#include <limits.h>
#include <sys/un.h>

/* The variable that tells a command where to send its marks. */
#define MARK_SOCKET_VARIABLE "TOLL_SOCKET"

struct mark_socket {
    int fd; /* -1: not there */
    pid_t owner;
    char directory[sizeof((struct sockaddr_un *)0)->sun_path];
    struct sockaddr_un address;
};

/* 0 or -errno; then nothing is left behind. */
int mark_socket_open(struct mark_socket *s);

/* Removes it with its directory, and some that a toll which was killed left beside it. Accepts one
 * that is not there; in a forked child nothing is removed. */
void mark_socket_close(struct mark_socket *s);

/* The variable, for a command. 0 or -ENOMEM. */
int mark_socket_tell(const struct mark_socket *s, struct environment *e);

/* One mark: its length and whose it is. -EAGAIN when there is none; -EPERM for one of another user,
 * -EMSGSIZE for one that is too long. */
ssize_t mark_socket_receive(const struct mark_socket *s, char *text, size_t capacity,
                            pid_t *ret_sender);
