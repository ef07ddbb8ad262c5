/* SPDX-License-Identifier: MIT
 * What a page has for a browser that runs scripts: uPlot, the page's own script (page.js) and the
 * points of its charts. A build without uPlot has none of it, and its pages show the same charts
 * without zoom. */
#pragma once

#include "sink/report/report.h"

/* Made by tools/embed-script; both texts are empty without uPlot. */
extern const char report_script[];
extern const char report_script_style[];
extern const char report_script_hash[]; /* as a Content-Security-Policy names it */

static inline bool script_is_built_in(void)
{
    return report_script[0];
}

/* Points of the charts, in a section of the page after its figures, of which each has the next
 * chart that is not empty. Neighbours are merged until they fit: a page stays below 2 MB with them,
 * unless it has many runs. */
void script_put_data(const struct report *r, struct buf *b);

/* What goes into the head of a page, and the script itself at its end. */
void script_put_style(struct buf *b);
void script_put(struct buf *b);
