/* SPDX-License-Identifier: MIT
 * Conditions on a run that is measured now: --fail-if and --baseline of `toll run`. */
#include "study/compare.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct toll_gate {
    struct condition *conditions;      /* owned */
    char **texts;                      /* owned, NULL-terminated */
    struct toll_judgement *judgements; /* owned, one for each condition */
    char **sentences;                  /* owned, the same */
    size_t count, judged;
    struct compare_group baseline;
    struct compare_group runs; /* that were added */
    bool has_baseline;
};

void toll_gate_free(struct toll_gate *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->count; i++) {
        free(g->texts[i]);
        free(g->sentences[i]);
    }
    compare_group_done(&g->baseline);
    compare_group_done(&g->runs);
    free(g->conditions);
    free(g->texts);
    free(g->sentences);
    free(g->judgements);
    free(g);
}

int toll_gate_new(struct toll_gate **ret, const struct toll_compare *asked, struct toll_error *e)
{
    struct toll_compare own;
    if (!ret)
        return err_set_no_place(e);
    if (!asked)
        return err_set(e, -EINVAL, "no conditions given");
    int r = sized_take(&own, sizeof own, asked, "comparison", e);
    if (r < 0)
        return r;
    const char *baseline = own.groups ? own.groups[0] : NULL;
    if (baseline && own.groups[1])
        return err_set(e, -EINVAL, "several baselines given (expected one)");
    struct toll_gate *g = calloc(1, sizeof *g);
    size_t count = 0;
    while (own.conditions && own.conditions[count])
        count++;
    if (!g)
        return err_set(e, -ENOMEM, "cannot keep the conditions: out of memory");
    r = compare_parse_conditions(own.conditions, &g->conditions, e);
    g->texts = calloc(count + 1, sizeof *g->texts);
    g->sentences = calloc(count + 1, sizeof *g->sentences);
    g->judgements = calloc(count + 1, sizeof *g->judgements);
    if (r == 0 && (!g->texts || !g->sentences || !g->judgements))
        r = err_set(e, -ENOMEM, "cannot keep the conditions: out of memory");
    for (size_t i = 0; r == 0 && i < count; i++) {
        g->count++;
        g->texts[i] = strdup(own.conditions[i]);
        if (!g->texts[i])
            r = err_set(e, -ENOMEM, "cannot keep the conditions: out of memory");
        else if (g->conditions[i].is_relative && !baseline)
            r = err_set(e, -EINVAL, "condition '%s' is relative to a baseline (none was given)",
                        own.conditions[i]);
    }
    if (r == 0 && baseline) {
        r = compare_group_read(&g->baseline, baseline, &own, true, e);
        if (r == -ENOENT && g->baseline.is_path && !compare_is_path(baseline)) {
            /* A directory without records has the name of the runs: "build". */
            CLEANUP_FREE char *name = NULL;
            compare_group_done(&g->baseline);
            r = asprintf(&name, "name=%s", baseline) < 0 ? -ENOMEM : 0;
            r = r < 0 ? err_set(e, r, "cannot keep the conditions: out of memory")
                      : compare_group_read(&g->baseline, name, &own, true, e);
        }
        g->has_baseline = r == 0;
        /* Of a record or a run that is not there the path is wrong; of a name this may be the first
         * run. */
        if (r == -ENOENT && g->baseline.is_none_yet) {
            struct buf b = {0};
            buf_printf(&b, "no run is named '%s' here: changes from it cannot be judged", baseline);
            buf_putc(&b, '\0');
            if (own.note && !buf_failed(&b))
                own.note(own.note_arg, b.data);
            buf_done(&b);
            r = 0;
        }
    }
    if (r < 0)
        toll_gate_free(g);
    else
        *ret = g;
    return r;
}

int study_gate_add(struct toll_gate *g, const struct summary *s)
{
    size_t count = g->runs.runs.count;
    bool *is_used = realloc(g->runs.is_used, (count + 1) * sizeof *is_used);
    if (!is_used)
        return -ENOMEM;
    g->runs.is_used = is_used;
    if (!study_add_summary(&g->runs.runs, s))
        return -ENOMEM;
    is_used[count] = true;
    g->runs.used++;
    return 0;
}

void toll_gate_clear(struct toll_gate *g)
{
    if (!g)
        return;
    compare_group_done(&g->runs);
    g->judged = 0;
}

/* Of a baseline with several names only runs of the same name count, if there are any. The view
 * borrows all of the baseline but is_used, which the caller frees. */
static bool gate_view_baseline(const struct toll_gate *g, struct compare_group *ret)
{
    const char *name = g->runs.runs.count ? g->runs.runs.items[0].name : "";
    *ret = g->baseline;
    ret->is_used = calloc(ret->runs.count + 1, sizeof *ret->is_used);
    if (!ret->is_used)
        return false;
    ret->used = 0;
    for (size_t i = 0; i < ret->runs.count; i++) {
        ret->is_used[i] = g->baseline.is_used[i] && strcmp(ret->runs.items[i].name, name) == 0;
        ret->used += ret->is_used[i];
    }
    if (!ret->used && ret->runs.count) {
        memcpy(ret->is_used, g->baseline.is_used, ret->runs.count * sizeof *ret->is_used);
        ret->used = g->baseline.used;
    }
    return true;
}

int toll_gate_judge(struct toll_gate *g)
{
    int failed = 0;
    if (!g)
        return -EINVAL;
    g->judged = 0;
    struct compare_group view = {0};
    if (g->has_baseline && !gate_view_baseline(g, &view))
        return -ENOMEM;
    for (size_t i = 0; i < g->count; i++) {
        const struct condition *c = &g->conditions[i];
        struct compare_cell value = {0}, baseline = {0};
        struct buf b = {0};
        bool ok = compare_cell_fill(&value, &g->runs, NULL, c->figure) &&
                  (!g->has_baseline || compare_cell_fill(&baseline, &view, NULL, c->figure));
        struct condition_side v = compare_side(&value), base = compare_side(&baseline);
        enum toll_judged state = TOLL_FAILED;
        if (ok)
            state = condition_judge(c, &v, g->has_baseline ? &base : NULL, &b);
        free(value.outliers);
        free(baseline.outliers);
        free(g->sentences[i]);
        g->sentences[i] = buf_take(&b);
        if (!ok || !g->sentences[i]) {
            failed = -ENOMEM;
            break;
        }
        g->judgements[i] = (struct toll_judgement){g->texts[i], g->sentences[i], state};
        g->judged++;
        failed += state == TOLL_FAILED;
    }
    free(view.is_used);
    return failed;
}

const struct toll_judgement *toll_gate_judgement(const struct toll_gate *g, size_t i)
{
    return g && i < g->judged ? &g->judgements[i] : NULL;
}
