/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_early.h"

#include "base/clock.h"
#include "base/quiet_fork.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* What the helper found out; smaller than what a pipe takes at once. */
struct finding {
    enum delivery delivery;
    struct mlflow_run run;
    char why[256];
};

static _Noreturn void help(struct mlflow_client *c, const struct buf *ops, int pipe)
{
    struct finding f = {.delivery = DELIVERY_DONE};
    struct attempt a = {0};
    struct spool_op op;
    struct scan text = scan_text(ops ? ops->data : "", ops ? ops->length : 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ops)
        while (spool_ops_next(&text, &op) > 0)
            mlflow_client_do(c, &op, &a);
    else
        f.delivery = mlflow_client_prepare(c, &a);
    f.run = c->run;
    memcpy(f.why, a.why, sizeof f.why);
    ssize_t n = write(pipe, &f, sizeof f);
    _exit(n == sizeof f ? 0 : 1);
}

/* Until the helper has told what it found, or the time is over. */
static bool listen_to(int pipe, uint64_t until_ns, struct finding *ret)
{
    struct pollfd fd = {.fd = pipe, .events = POLLIN};
    for (uint64_t now; (now = clock_mono(NULL)) < until_ns;) {
        int n = poll(&fd, 1, (int)((until_ns - now) / NS_PER_MS) + 1);
        if (n > 0)
            return read(pipe, ret, sizeof *ret) == sizeof *ret;
        if (n < 0 && errno != EINTR)
            return false;
    }
    return false;
}

/* Whether nobody but us can hold a lock. */
static bool is_alone(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3; /* ., .. and one thread */
}

/* The helper allocates, looks up names and speaks TLS: where other threads may be in the middle of
 * that, the C library has to know of the fork, and the program may notice the helper's end. Signals
 * are for us, who have handlers for them. */
static pid_t start_helper(struct mlflow_client *c, const struct buf *ops, int pipe)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t helper = is_alone() ? quiet_fork() : fork();
    if (helper == 0)
        help(c, ops, pipe);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return helper;
}

static bool ask(struct mlflow_client *c, uint64_t timeout_ns, const struct buf *ops,
                struct finding *ret)
{
    int ends[2];
    uint64_t until_ns = sum_u64(clock_mono(NULL), timeout_ns);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    c->timeout_ns = timeout_ns;
    pid_t helper = start_helper(c, ops, ends[1]);
    c->timeout_ns = 0;
    close(ends[1]);
    bool has_told = helper > 0 && listen_to(ends[0], until_ns, ret);
    close(ends[0]);
    if (helper > 0)
        quiet_fork_end(helper);
    return has_told;
}

int mlflow_early_create(struct mlflow_client *c, uint64_t timeout_ns, struct attempt *a)
{
    struct finding f;
    if (!timeout_ns) {
        snprintf(a->why, sizeof a->why, "nobody waited for it");
        return -ETIMEDOUT;
    }
    if (!ask(c, timeout_ns, NULL, &f)) {
        c->run.may_exist = true;
        snprintf(a->why, sizeof a->why, "it did not answer in time");
        return -ETIMEDOUT;
    }
    c->run = f.run;
    memcpy(a->why, f.why, sizeof a->why);
    return f.delivery == DELIVERY_DONE ? 0 : -EIO;
}

void mlflow_early_do(struct mlflow_client *c, uint64_t timeout_ns, const struct buf *ops)
{
    struct finding f;
    if (timeout_ns)
        ask(c, timeout_ns, ops, &f);
}
