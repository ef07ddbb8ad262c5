/* SPDX-License-Identifier: MIT
 * Writing to a descriptor that was handed to us (a pipe, a terminal, a socket) without waiting for
 * its reader.
 *
 * O_NONBLOCK cannot be set for that: it belongs to the open file description, which the shell and
 * the job share. So a pipe and a terminal are opened again through /proc, and what is sent to a
 * socket is sent with MSG_DONTWAIT. Where they cannot be opened again (no /proc; the terminal of
 * another user) poll is asked first, and no more is written at a time than there is room for. */
#pragma once

#include "base/util.h"

struct stream {
    int fd;  /* borrowed */
    int own; /* the same file, opened again; -1: it is not */
    enum { STREAM_NEVER_WAITS, STREAM_SOCKET, STREAM_IN_SMALL_PARTS } way;
};

/* Regular files are written as ever. */
void stream_open(struct stream *s, int fd);
void stream_close(struct stream *s);

/* As much as there is room for, *ret_written bytes. 0, -EAGAIN when that was not all, or another
 * -errno. No signal comes of it. */
int stream_write(struct stream *s, const char *data, size_t length, size_t *ret_written);

/* Until there is room again, or the reader is gone, or the time is over: false. A signal handler
 * that runs also ends it, unless the time is -1, which has no end. */
bool stream_wait(const struct stream *s, int timeout_ms);

/* Writes all of it, unless nothing is taken for so long: -EAGAIN. */
int stream_write_patiently(struct stream *s, const char *data, size_t length, int wait_ms);
