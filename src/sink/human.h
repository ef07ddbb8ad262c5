/* SPDX-License-Identifier: MIT
 * Figures as people read them: 1.21 GiB, 12.3 ms, 3 h 05 min, 1,234. Three digits that count. */
#pragma once

#include "metric/metric.h"

/* A number in the metric's base unit. */
void human_number(struct buf *b, const struct metric *m, double number);

/* The same per second; nothing for what would say nothing (seconds per second). */
void human_rate(struct buf *b, const struct metric *m, double number);

/* In a few letters: 412M, 1.2k, 0.98; the heading tells the unit. */
void human_short(struct buf *b, const struct metric *m, double number);

void human_seconds(struct buf *b, double seconds);
void human_bytes(struct buf *b, double bytes);
void human_count(struct buf *b, double count);
