/* SPDX-License-Identifier: MIT
 * fickle BURN LOST_MS KEPT_MS: run BURN for LOST_MS while SIGCHLD is ignored, then three times for
 * KEPT_MS with somebody who waits. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t run(const char *program, const char *ms)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl(program, program, ms, (char *)NULL);
        _exit(127);
    }
    return pid;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    signal(SIGCHLD, SIG_IGN);
    pid_t lost = run(argv[1], argv[2]);
    while (kill(lost, 0) == 0)
        usleep(10000);
    usleep(200000); /* it is noticed that it has gone */
    signal(SIGCHLD, SIG_DFL);
    for (int i = 0; i < 3; i++)
        waitpid(run(argv[1], argv[3]), NULL, 0);
    return 0;
}
