/* SPDX-License-Identifier: MIT
 * A program that measures itself in the background, for tests. */
#pragma once

#include "base/clock.h"
#include "base/util.h"
#include "toll.h"
#include "tree.h"

static inline struct toll_tracker *make(struct toll_options o)
{
    struct toll_tracker *t = NULL;
    struct toll_target self = {.size = sizeof self};
    o.size = sizeof o;
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_tracker_add_target(t, &self, NULL), 0);
    return t;
}

static inline struct toll_tracker *start(struct toll_options o)
{
    struct toll_tracker *t = make(o);
    struct toll_error e = {0};
    int r = toll_tracker_start(t, &e);
    assert_string_equal(e.message, "");
    assert_int_equal(r, 0);
    return t;
}

static inline void burn(uint64_t ns)
{
    uint64_t until = clock_thread_cpu() + ns;
    while (clock_thread_cpu() < until)
        ;
}

static inline double total(struct toll_tracker *t, const char *name)
{
    struct toll_figure f = {.size = sizeof f};
    assert_int_equal(toll_tracker_figure(t, name, &f), 0);
    return f.total;
}
