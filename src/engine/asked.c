/* SPDX-License-Identifier: MIT */
#include "engine/asked.h"

#include "base/err.h"
#include "base/secrets.h"
#include "collect/cgroup.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

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
static int take_name(const struct toll_tracker *t, struct target *g, const char *name)
{
    struct buf b = {0}, masked = {0};
    bool has_secret = false;
    if (!name && g->kind == TOLL_TARGET_MATCH && !t->options.show_secrets) {
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
        return err_set(e, -EINVAL, "there is no user '%s'; it takes a name or a number", g->text);
    g->user = user->pw_uid;
    return 0;
}

static int take_regex(struct target *g, struct toll_error *e)
{
    if (!*g->text)
        return err_set(e, -EINVAL,
                       "the regular expression to match is empty: it would match "
                       "every process");
    int r = regcomp(&g->regex, g->text, REG_EXTENDED | REG_NOSUB);
    if (r == REG_ESPACE)
        return err_set(e, -ENOMEM, "no memory for the regular expression '%s'", g->text);
    if (r) {
        char why[128];
        regerror(r, &g->regex, why, sizeof why);
        return err_set(e, -EINVAL, "'%s' is not an extended regular expression: %s", g->text, why);
    }
    g->has_regex = true;
    return 0;
}

static int take_id(struct target *g, struct toll_error *e)
{
    if (g->id <= 0)
        return err_set(e, -EINVAL, "%d is not the number of a %s; they count from 1", (int)g->id,
                       kind_word(g->kind));
    return 0;
}

int asked_take(struct toll_tracker *t, struct target *g, const struct toll_target *asked,
               struct toll_error *e)
{
    g->kind = asked->kind;
    g->id = asked->id || asked->kind != TOLL_TARGET_PROCESS ? asked->id : getpid();
    if ((unsigned)asked->kind > TOLL_TARGET_USER)
        return err_set(e, -EINVAL, "the kind of the target is %d, which is none of TOLL_TARGET_…",
                       (int)asked->kind);
    if (has_text(asked->kind) && !asked->text)
        return err_set(e, -EINVAL, "the target says neither whom nor what to measure");
    if (asked->text && !(g->text = strdup(asked->text)))
        return err_set(e, -ENOMEM, "no memory for a target");
    if (take_name(t, g, asked->name) < 0)
        return err_set(e, -ENOMEM, "no memory for a target");
    switch (g->kind) {
    case TOLL_TARGET_USER: return take_user(g, e);
    case TOLL_TARGET_MATCH: return take_regex(g, e);
    case TOLL_TARGET_CGROUP: return 0; /* looked for when the machine is open */
    default: return take_id(g, e);
    }
}

static int no_process(const struct toll_tracker *t, pid_t pid, struct toll_error *e)
{
    const struct member *m = members_find(&t->members, pid);
    if (m && m->was_seen && !m->process.is_hidden)
        return err_set(e, -ESRCH,
                       "process %d (%s) has ended already: only its parent has not asked how",
                       (int)pid, m->process.entity.name);
    if (t->discovery.unread < 0)
        return err_set(e, t->discovery.unread, "process %d cannot be read: %s", (int)pid,
                       strerror(-t->discovery.unread));
    return err_set(e, -ESRCH, "there is no process %d, or this user may not see it", (int)pid);
}

int asked_nobody(const struct toll_tracker *t, const struct target *g, struct toll_error *e)
{
    switch (g->kind) {
    case TOLL_TARGET_PROCESS: return no_process(t, g->id, e);
    case TOLL_TARGET_MATCH:
        return err_set(e, -ESRCH, "no command line of a running process matches '%s'", g->text);
    case TOLL_TARGET_USER: return err_set(e, -ESRCH, "no process of user '%s' is running", g->text);
    default:
        return err_set(e, -ESRCH, "there is no process in %s %d", kind_word(g->kind), (int)g->id);
    }
}

void asked_describe(struct toll_tracker *t, const struct target *g, struct buf *b)
{
    const struct member *m = members_find(&t->members, g->id);
    const char *and_children = t->run.no_children ? "" : " and descendants";
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

/* PIDFD_GET_INFO of Linux 6.13 with the exit status of 6.15; older headers do not have it. */
struct pidfd_exit_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t pid, group, parent;
    uint32_t ids[8];
    int32_t exit_code; /* once it was reaped */
};

#define PIDFD_EXIT_BIT (UINT64_C(1) << 3)
#define PIDFD_ASK      _IOWR(0xFF, 11, struct pidfd_exit_info)

bool asked_exit_status(int pidfd, int *ret_status)
{
    struct pidfd_exit_info info = {.mask = PIDFD_EXIT_BIT};
    if (pidfd < 0 || ioctl(pidfd, PIDFD_ASK, &info) < 0 || !(info.mask & PIDFD_EXIT_BIT))
        return false;
    *ret_status = info.exit_code;
    return true;
}

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
    if (own_exit_status(g->id, &g->end) || !asked_exit_status(g->main_pidfd, &status))
        return;
    bool signaled = WIFSIGNALED(status);
    g->end = (struct toll_end){
        .ended = true,
        .signaled = signaled,
        .core_dumped = signaled && WCOREDUMP(status),
        .status = signaled ? WTERMSIG(status) : WEXITSTATUS(status),
    };
}
