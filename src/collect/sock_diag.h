/* SPDX-License-Identifier: MIT
 * The kernel's list of TCP sockets of our network namespace (NETLINK_SOCK_DIAG), and the last words
 * of those that end. Nobody is woken by last words; they wait in a large buffer until they are
 * heard. */
#pragma once

#include "base/util.h"
#include "parse/inet_diag.h"

#include <stdalign.h>

struct sock_diag {
    int dumps;
    int last_words; /* -1: this kernel has none (before Linux 4.3) */
    uint32_t sequence;
    alignas(8) char answer[32768]; /* the kernel never puts more into one answer to a dump */
};

/* 0, or -errno when the kernel cannot list sockets. */
int sock_diag_open(struct sock_diag *d);
void sock_diag_close(struct sock_diag *d);

/* Calls visit with every socket of the family (AF_INET, AF_INET6) that carries bytes. 0 or -errno,
 * when some may be missing. */
int sock_diag_dump(struct sock_diag *d, int family,
                   void (*visit)(void *arg, const struct inet_diag_answer *socket), void *arg);

/* Calls visit with every socket that has ended since the last time. False when some were lost:
 * there were too many. */
bool sock_diag_hear(struct sock_diag *d,
                    void (*visit)(void *arg, const struct inet_diag_answer *socket), void *arg);
