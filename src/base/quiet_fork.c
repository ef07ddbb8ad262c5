/* SPDX-License-Identifier: MIT */
#include "base/quiet_fork.h"

#include "base/file.h"
#include "base/util.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_MS_TO_DIE = 50 };

pid_t quiet_fork(void)
{
    return (pid_t)syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL); /* all 0: in any order */
}

void quiet_fork_end(pid_t pid)
{
    if (waitpid(pid, NULL, WNOHANG | __WALL) != 0)
        return; /* it is gone, and its number may be another's */
    kill(pid, SIGKILL);
    for (unsigned ms = 0; ms < MOST_MS_TO_DIE && waitpid(pid, NULL, WNOHANG | __WALL) == 0; ms++)
        usleep(1000);
}

struct kept_two {
    int first, second;
};

static void close_other(void *arg, const char *name)
{
    const struct kept_two *kept = arg;
    struct scan s = scan_string(name);
    uint64_t fd;
    if (scan_u64(&s, &fd) && fd != (uint64_t)kept->first && fd != (uint64_t)kept->second)
        close((int)fd);
}

void quiet_fork_close_all_but(int fd)
{
#ifdef SYS_close_range
    bool below = fd == 0 || syscall(SYS_close_range, 0, fd - 1, 0) == 0;
    if (below && syscall(SYS_close_range, fd + 1, ~0U, 0) == 0)
        return;
#endif
    struct kept_two kept = {fd, open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (kept.second < 0)
        return;
    file_each_entry(kept.second, close_other, &kept);
    close(kept.second);
}
