/* SPDX-License-Identifier: MIT
 * What happens in a run as rows of a SQLite file, on a tape: the side of it that samples. */
#pragma once

#include "metric/process.h"
#include "metric/selection.h"
#include "summary/phases.h"
#include "summary/summary.h"
#include "sink/sqlite_entities.h"

struct sqlite_rows {
    struct sqlite_entities entities;
    uint64_t seq; /* everything that was told is numbered, so that its order can be found again */
};

void sqlite_rows_run(struct buf *b, const struct run *run, const struct selection *selection);

/* New entities are described in rows->entities.met, which has to be written first. */
void sqlite_rows_frame(struct buf *b, struct sqlite_rows *rows, const struct frame *f,
                       const struct run *run, const struct selection *selection);
void sqlite_rows_process_end(struct buf *b, struct sqlite_rows *rows, const struct process_end *e,
                             const struct run *run, const struct selection *selection);
void sqlite_rows_mark(struct buf *b, struct sqlite_rows *rows, const struct told_mark *m,
                      const struct selection *selection);
void sqlite_rows_note(struct buf *b, struct sqlite_rows *rows, uint64_t elapsed_ns,
                      const char *sentence);

/* How something ended: status, code, signal. */
void sqlite_rows_end(struct buf *b, const struct toll_end *end);

/* The same for what it came to. */
void sqlite_summary(struct buf *b, struct sqlite_rows *rows, const struct summary *s,
                    const struct selection *selection);
