/* SPDX-License-Identifier: MIT
 * Sending a mark to the `toll run` that this program runs under. */
#pragma once

#include "base/text/buf.h"

/* Whether there may be somebody who listens; costs nothing. */
bool mark_client_has_listener(void);

/* Adds what is told about the mark, and sends it: 0; 1 when nobody listens; -EAGAIN when the
 * listener does not keep up, who is told with the next one; -errno. */
int mark_client_send(struct buf *text);
