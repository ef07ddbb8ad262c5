/* SPDX-License-Identifier: MIT */
#include "engine/settings.h"

#include "base/err.h"
#include "base/process.h"
#include "base/text/secrets.h"
#include "engine/target/gpus.h"
#include "engine/tracker.h"
#include "source/cgroup/cgroup.h"

#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* ==== Asked =================================================================================== */

static const char *kind_word(enum toll_target_kind kind)
{
    static const char *const words[] = {
        [TOLL_TARGET_PROCESS] = "process", [TOLL_TARGET_GROUP] = "group",
        [TOLL_TARGET_SESSION] = "session", [TOLL_TARGET_CGROUP] = "cgroup",
        [TOLL_TARGET_MATCH] = "match",     [TOLL_TARGET_USER] = "user",
    };
    return words[kind];
}

static bool has_text(enum toll_target_kind kind)
{
    return kind == TOLL_TARGET_CGROUP || kind == TOLL_TARGET_MATCH || kind == TOLL_TARGET_USER;
}

/* process-1234, user-alice. An expression with a secret in it, which names do not show, has the
 * number of the target in its place. */
static int asked_take_name(const struct tracked *t, struct target *g, const char *name)
{
    struct buf b = {0}, masked = {0};
    bool has_secret = false;
    if (!name && g->kind == TOLL_TARGET_MATCH && !t->options->show_secrets) {
        secrets_mask_text(&masked, g->text, strlen(g->text));
        has_secret = masked.data && strcmp(masked.data, g->text) != 0;
        b.failed = buf_failed(&masked);
        buf_done(&masked);
    }
    if (name)
        buf_puts(&b, name);
    else if (has_secret)
        buf_printf(&b, "%s-%zu", kind_word(g->kind), t->target_count);
    else if (has_text(g->kind))
        buf_printf(&b, "%s-%s", kind_word(g->kind), g->text);
    else
        buf_printf(&b, "%s-%d", kind_word(g->kind), (int)g->id);
    if (buf_failed(&b))
        return -ENOMEM;
    g->name = b.data;
    return 0;
}

static int take_user(struct target *g, struct toll_error *e)
{
    struct scan s = scan_string(g->text);
    uint64_t number;
    if (scan_u64(&s, &number) && scan_done(&s) && number < UINT32_MAX) { /* the last is nobody */
        g->user = (uid_t)number;
        return 0;
    }
    const struct passwd *user = getpwnam(g->text);
    if (!user)
        return err_set(e, -EINVAL, "user: unknown user '%s' (expected a name or a number)",
                       g->text);
    g->user = user->pw_uid;
    return 0;
}

static int take_regex(struct target *g, struct toll_error *e)
{
    if (!*g->text)
        return err_set(e, -EINVAL,
                       "match: empty regular expression (it would match every process)");
    int r = regcomp(&g->regex, g->text, REG_EXTENDED | REG_NOSUB);
    if (r == REG_ESPACE)
        return err_set(e, -ENOMEM, "match: cannot compile '%s': out of memory", g->text);
    if (r) {
        char why[128];
        regerror(r, &g->regex, why, sizeof why);
        return err_set(e, -EINVAL, "match: invalid regular expression '%s': %s", g->text, why);
    }
    g->has_regex = true;
    return 0;
}

int asked_take(struct tracked *t, struct target *g, const struct toll_target *asked,
               struct toll_error *e)
{
    g->kind = asked->kind;
    g->id = asked->id || asked->kind != TOLL_TARGET_PROCESS ? asked->id : getpid();
    if ((unsigned)asked->kind > TOLL_TARGET_USER)
        return err_set(e, -EINVAL,
                       "kind: invalid kind of target %d (expected one of TOLL_TARGET_…)",
                       (int)asked->kind);
    if (has_text(asked->kind) && !asked->text)
        return err_set(e, -EINVAL, "text: missing (expected a pattern, a cgroup or a user)");
    if (asked->text && !(g->text = strdup(asked->text)))
        return err_set(e, -ENOMEM, "cannot add a target: out of memory");
    if (asked_take_name(t, g, asked->name) < 0)
        return err_set(e, -ENOMEM, "cannot add a target: out of memory");
    switch (g->kind) {
    case TOLL_TARGET_USER: return take_user(g, e);
    case TOLL_TARGET_MATCH: return take_regex(g, e);
    case TOLL_TARGET_CGROUP: return 0; /* looked for when the machine is open */
    default: break;
    }
    return g->id > 0 ? 0
                     : err_set(e, -EINVAL, "%s: invalid ID %d (expected a number from 1)",
                               kind_word(g->kind), (int)g->id);
}

static int no_process(const struct tracked *t, pid_t pid, struct toll_error *e)
{
    const struct member *m = members_find(&t->members, pid);
    if (m && m->was_seen && !m->process.is_hidden)
        return err_set(e, -ESRCH, "process %d (%s) has already ended (zombie)", (int)pid,
                       m->process.entity.name);
    if (t->discovery.unread < 0)
        return err_set(e, t->discovery.unread, "cannot read process %d: %s", (int)pid,
                       strerror(-t->discovery.unread));
    return err_set(e, -ESRCH, "no process %d (it is not running, or hidden from this user)",
                   (int)pid);
}

int asked_nobody(const struct tracked *t, const struct target *g, struct toll_error *e)
{
    switch (g->kind) {
    case TOLL_TARGET_PROCESS: return no_process(t, g->id, e);
    case TOLL_TARGET_MATCH:
        return err_set(e, -ESRCH, "match: no running process has a command line that matches '%s'",
                       g->text);
    case TOLL_TARGET_USER:
        return err_set(e, -ESRCH, "user: no process of user '%s' is running", g->text);
    default:
        return err_set(e, -ESRCH, "%s: no process in %s %d", kind_word(g->kind), kind_word(g->kind),
                       (int)g->id);
    }
}

void asked_describe(struct tracked *t, const struct target *g, struct buf *b)
{
    const struct member *m = members_find(&t->members, g->id);
    const char *and_children = t->options->no_children ? "" : " and children";
    switch (g->kind) {
    case TOLL_TARGET_PROCESS:
        buf_printf(b, "process %d (%s)%s", (int)g->id, m ? m->process.entity.name : "?",
                   and_children);
        break;
    case TOLL_TARGET_MATCH:
        buf_printf(b, "processes that match '%s'%s", g->text, and_children);
        break;
    case TOLL_TARGET_USER: buf_printf(b, "processes of user %s", g->text); break;
    case TOLL_TARGET_CGROUP: buf_printf(b, "processes of cgroup %s", g->text); break;
    case TOLL_TARGET_GROUP: buf_printf(b, "process group %d", (int)g->id); break;
    case TOLL_TARGET_SESSION: buf_printf(b, "session %d", (int)g->id); break;
    }
}

/* ---- The end of somebody else's child -------------------------------------------------------- */

/* A child of our own program shows it without being reaped: that is for the program to do. */
static bool own_exit_status(pid_t pid, struct toll_end *ret)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != pid)
        return false;
    *ret = (struct toll_end){
        .ended = true,
        .signaled = info.si_code != CLD_EXITED,
        .core_dumped = info.si_code == CLD_DUMPED,
        .status = info.si_status,
    };
    return true;
}

void asked_how_it_ended(struct target *g)
{
    int status;
    if (own_exit_status(g->id, &g->end) || !process_exit_status(g->main_pidfd, &status))
        return;
    bool signaled = WIFSIGNALED(status);
    g->end = (struct toll_end){
        .ended = true,
        .signaled = signaled,
        .core_dumped = signaled && WCOREDUMP(status),
        .status = signaled ? WTERMSIG(status) : WEXITSTATUS(status),
    };
}

/* ==== Settings ================================================================================ */

static int check_labels(const char *const *labels, struct toll_error *e)
{
    for (const char *const *l = labels; l && *l; l++) {
        const char *equals = strchr(*l, '=');
        if (!equals || equals == *l)
            return err_set(e, -EINVAL, "labels: invalid label '%s' (expected KEY=VALUE)", *l);
    }
    return 0;
}

static int check_choices(const struct toll_options *o, struct toll_error *e)
{
    if ((unsigned)o->memory > TOLL_MEMORY_PSS)
        return err_set(e, -EINVAL, "memory: invalid value %d (expected one of TOLL_MEMORY_…)",
                       (int)o->memory);
    if ((unsigned)o->processes > TOLL_PROCESSES_ALL)
        return err_set(e, -EINVAL, "processes: invalid value %d (expected one of TOLL_PROCESSES_…)",
                       (int)o->processes);
    if ((unsigned)o->wait > TOLL_WAIT_ALL)
        return err_set(e, -EINVAL, "wait: invalid value %d (expected one of TOLL_WAIT_…)",
                       (int)o->wait);
    if ((unsigned)o->own_cgroup > TOLL_OWN_CGROUP_NEVER)
        return err_set(e, -EINVAL,
                       "own_cgroup: invalid value %d (expected one of TOLL_OWN_CGROUP_…)",
                       (int)o->own_cgroup);
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
        return err_set(e, -EINVAL, "interval: too short (expected at least 1 ms)");
    if (o.interval_ns > 86400 * NS_PER_SECOND)
        return err_set(e, -EINVAL, "interval: too long (expected at most one day)");
    if (o.budget_percent == 0)
        o.budget_percent = 1;
    if (!(o.budget_percent > 0 && o.budget_percent <= 100))
        return err_set(e, -EINVAL,
                       "budget: invalid value %g (expected more than 0 and at most 100 percent)",
                       o.budget_percent);
    if (!(o.cpu_max_cores >= 0 && (o.cpu_max_cores == 0 || o.cpu_max_cores >= 0.01)))
        return err_set(e, -EINVAL, "cpu_max: invalid value %g (expected at least 0.01 cores)",
                       o.cpu_max_cores);
    if (o.own_cgroup == TOLL_OWN_CGROUP_NEVER &&
        (o.memory_max_bytes || o.cpu_max_cores > 0 || o.pids_max))
        return err_set(
            e, -EINVAL,
            "own_cgroup: limits need a cgroup for the command (expected auto or always)");
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
    parallel_find(&run->parallel);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    run->online_cpus = online > 0 ? (unsigned)online : 0;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        run->cpus = (unsigned)CPU_COUNT(&cpus);
    else
        run->cpus = run->online_cpus;
}

static int settings_copy_settings(struct toll_tracker *t, const struct toll_options *o)
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

/* Network bytes of a target are read only when they are asked for, also by name. */
static void settle_network(struct toll_tracker *t)
{
    uint64_t bits = PROCESS_NETWORK_BITS;
    struct selection *s = &t->selection;
    uint64_t named = s->by_name ? s->parts[PART_COMBINED] | s->of[ENTITY_PROCESS] : 0;
    if (named & (bits | PROCESS_SOCKET_BITS))
        t->options.network = true;
    if (!(named & PROCESS_SOCKET_BITS) && !(t->options.exact && t->options.network)) {
        for (unsigned part = 0; part < PARTS; part++)
            s->parts[part] &= ~PROCESS_SOCKET_BITS;
        s->of[ENTITY_PROCESS] &= ~PROCESS_SOCKET_BITS;
    }
    for (unsigned part = 0; part < PARTS; part++)
        if (part != PART_COMBINED || !t->options.network)
            s->parts[part] &= ~bits;
    s->of[ENTITY_PROCESS] &= ~bits;
}

/* The share of energy is measured only when it is asked for, also by name or by a price of it. */
static int settle_energy(struct toll_tracker *t, struct toll_error *e)
{
    const struct toll_options *o = &t->options;
    struct selection *s = &t->selection;
    int r = energy_prices_parse(&t->energy.prices, o, e);
    if (r < 0)
        return r;
    t->energy.is_asked = o->energy || o->carbon || o->price || o->price_hour || o->pue > 0 ||
                         (s->by_name && s->parts[PART_COMBINED] & PROCESS_ENERGY_BITS);
    for (unsigned part = 0; part < PARTS; part++)
        if (part != PART_COMBINED || !t->energy.is_asked)
            s->parts[part] &= ~PROCESS_ENERGY_BITS;
    s->of[ENTITY_PROCESS] &= ~PROCESS_ENERGY_BITS;
    return 0;
}

int settings_take(struct toll_tracker *t, struct toll_error *e)
{
    int r = selection_parse(&t->selection, t->options.metrics, e);
    if (r < 0)
        return r;
    settle_network(t);
    if (!t->options.threads)
        t->selection.of[ENTITY_THREAD] = 0;
    if ((r = settle_energy(t, e)) < 0)
        return r;
    r = gpus_take(&t->gpus, &t->options, &t->selection, &t->run, e);
    if (r < 0)
        return r;
    if (settings_copy_settings(t, &t->options) < 0)
        return err_set(e, -ENOMEM, "cannot create a tracker: out of memory");
    describe_machine(&t->run);
    return 0;
}
