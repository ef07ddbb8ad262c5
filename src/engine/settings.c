/* SPDX-License-Identifier: MIT */
#include "engine/settings.h"

#include "base/err.h"
#include "base/sized.h"
#include "engine/gpus.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static int check_labels(const char *const *labels, struct toll_error *e)
{
    for (const char *const *l = labels; l && *l; l++) {
        const char *equals = strchr(*l, '=');
        if (!equals || equals == *l)
            return err_set(e, -EINVAL, "the label '%s' is not of the form KEY=VALUE", *l);
    }
    return 0;
}

static int check_choices(const struct toll_options *o, struct toll_error *e)
{
    if ((unsigned)o->memory > TOLL_MEMORY_PSS)
        return err_set(e, -EINVAL, "memory is %d, which is none of TOLL_MEMORY_…", (int)o->memory);
    if ((unsigned)o->processes > TOLL_PROCESSES_ALL)
        return err_set(e, -EINVAL, "processes is %d, which is none of TOLL_PROCESSES_…",
                       (int)o->processes);
    if ((unsigned)o->wait > TOLL_WAIT_ALL)
        return err_set(e, -EINVAL, "wait is %d, which is none of TOLL_WAIT_…", (int)o->wait);
    return 0;
}

int settings_check(struct toll_options *ret, const struct toll_options *asked, struct toll_error *e)
{
    struct toll_options o;
    int r = sized_take(&o, sizeof o, asked, "options", e);
    if (r == 0)
        r = check_choices(&o, e);
    if (r < 0)
        return r;
    if (o.interval_ns && o.interval_ns < NS_PER_MS)
        return err_set(e, -EINVAL, "the interval is shorter than 1 ms");
    if (o.interval_ns > 86400 * NS_PER_SECOND)
        return err_set(e, -EINVAL, "the interval is longer than a day");
    if (o.budget_percent == 0)
        o.budget_percent = 1;
    if (!(o.budget_percent > 0 && o.budget_percent <= 100))
        return err_set(e, -EINVAL, "the budget is not between 0 and 100 percent");
    r = check_labels(o.labels, e);
    if (r == 0)
        *ret = o;
    return r;
}

static void describe_machine(struct run *run)
{
    struct utsname u;
    cpu_set_t cpus;
    if (uname(&u) == 0) {
        snprintf(run->host, sizeof run->host, "%s", u.nodename);
        snprintf(run->kernel, sizeof run->kernel, "%s", u.release);
    }
    run->own_pid = getpid();
    uuid_make(run->id, clock_real(NULL), NULL);
    batch_job_find(&run->job);
    if (!rank_find(run->rank, sizeof run->rank))
        run->rank[0] = '\0';
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    run->online_cpus = online > 0 ? (unsigned)online : 0;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        run->cpus = (unsigned)CPU_COUNT(&cpus);
    else
        run->cpus = run->online_cpus;
}

static int copy_settings(struct toll_tracker *t, const struct toll_options *o)
{
    t->run.shows_secrets = o->show_secrets;
    t->run.no_args = o->no_args;
    if (o->name && run_set_name(&t->run, o->name) < 0)
        return -ENOMEM;
    if (o->labels && run_set_labels(&t->run, o->labels) < 0)
        return -ENOMEM;
    if (o->metrics && !(t->run.metrics = strdup(o->metrics)))
        return -ENOMEM;
    t->run.interval_ns = o->interval_ns;
    t->run.no_children = o->no_children;
    t->run.system = o->system;
    t->run.network = o->network;
    t->run.since_start = o->since_start;
    return 0;
}

/* Network bytes of a target are dear: they are read when they are asked for, also by name. */
static void settle_network(struct toll_tracker *t)
{
    uint64_t bits = BIT(process_network_received_bytes) | BIT(process_network_sent_bytes);
    struct selection *s = &t->selection;
    if (s->by_name && ((s->parts[PART_COMBINED] | s->of[ENTITY_PROCESS]) & bits))
        t->options.network = true;
    for (unsigned part = 0; part < PARTS; part++)
        if (part != PART_COMBINED || !t->options.network)
            s->parts[part] &= ~bits;
    s->of[ENTITY_PROCESS] &= ~bits;
}

int settings_take(struct toll_tracker *t, struct toll_error *e)
{
    int r = selection_parse(&t->selection, t->options.metrics, e);
    if (r < 0)
        return r;
    settle_network(t);
    r = gpus_take(t, t->options.gpus, e);
    if (r < 0)
        return r;
    if (copy_settings(t, &t->options) < 0)
        return err_set(e, -ENOMEM, "no memory for a tracker");
    describe_machine(&t->run);
    return 0;
}
