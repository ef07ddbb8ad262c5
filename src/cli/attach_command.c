/* SPDX-License-Identifier: MIT
 * toll attach: measure what runs already. */
#include "base/scan.h"
#include "cli/observe.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* "web=1234" is 1234 by the name of web. */
static int take_number(const char *word, struct toll_target *target, char *name, size_t capacity,
                       struct toll_error *e)
{
    const char *equals = strchr(word, '=');
    struct scan s = scan_string(equals ? equals + 1 : word);
    uint64_t number;
    if (!scan_u64(&s, &number) || !scan_done(&s) || !number || number > INT_MAX || equals == word)
        return err_set(e, -EINVAL,
                       "'%s' is not a number of a process, group or session; it takes "
                       "a number such as 1234, or NAME=1234",
                       word);
    target->id = (pid_t)number;
    if (equals) {
        snprintf(name, capacity, "%.*s", (int)(equals - word), word);
        target->name = name;
    }
    return 0;
}

static int add(struct session *s, enum toll_target_kind kind, const char **words,
               struct toll_error *e)
{
    for (; words && *words; words++) {
        char name[256];
        struct toll_target target = {.size = sizeof target, .kind = kind, .text = *words};
        bool by_number = kind == TOLL_TARGET_PROCESS || kind == TOLL_TARGET_GROUP ||
                         kind == TOLL_TARGET_SESSION;
        int r = by_number ? take_number(*words, &target, name, sizeof name, e) : 0;
        if (r == 0)
            r = toll_tracker_add_target(s->tracker, &target, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_targets(struct session *s, struct toll_error *e)
{
    const struct settings *set = &s->settings;
    const struct {
        enum toll_target_kind kind;
        const char **words;
    } all[] = {
        {TOLL_TARGET_PROCESS, set->words},    {TOLL_TARGET_GROUP, set->groups},
        {TOLL_TARGET_SESSION, set->sessions}, {TOLL_TARGET_CGROUP, set->cgroups},
        {TOLL_TARGET_MATCH, set->matches},    {TOLL_TARGET_USER, set->users},
    };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        any |= all[i].words != NULL;
        int r = add(s, all[i].kind, all[i].words, e);
        if (r < 0)
            return r;
    }
    return any ? 0
               : err_set(e, -EINVAL,
                         "there is nothing to attach to; toll attach PID…, or --group, "
                         "--session, --cgroup, --match or --user");
}

int attach_main(int argc, char **argv)
{
    struct session s;
    struct toll_error e = {0};
    int status;
    if (session_open(&s, argc, argv, &status) == 0) {
        int r = add_targets(&s, &e);
        if (r == 0)
            r = observe_attach(&s, &e);
        status = r < 0 ? complain("%s", e.message) : observe(&s);
    }
    session_close(&s);
    return status;
}
