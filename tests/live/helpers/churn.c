/* SPDX-License-Identifier: MIT
 * churn wait|grand|ignore COUNT MS: COUNT children one after the other, each using MS of CPU time;
 * with grand each is the child of a child that does nothing else. With ignore nobody waits. Ends
 * when a line comes on standard input after the last one; says "done" before. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void burn(long ms)
{
    struct timespec t;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    char line[16];
    if (strcmp(argv[1], "ignore") == 0)
        signal(SIGCHLD, SIG_IGN);
    if (!fgets(line, sizeof line, stdin)) /* when everybody is ready */
        return 2;
    for (int i = 0; i < atoi(argv[2]); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (strcmp(argv[1], "grand") == 0 && fork()) {
                wait(NULL);
                _exit(0);
            }
            burn(atol(argv[3]));
            _exit(0);
        }
        while (waitpid(pid, NULL, 0) == pid)
            ;
    }
    puts("done");
    fflush(stdout);
    return fgets(line, sizeof line, stdin) ? 0 : 1;
}
