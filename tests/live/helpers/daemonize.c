/* SPDX-License-Identifier: MIT
 * daemonize PIDFILE COMMAND…: the classical double fork. Returns at once; the command runs on in a
 * session of its own, as nobody's child. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    pid_t middle = fork();
    if (middle == 0) {
        setsid();
        if (fork())
            _exit(0);
        FILE *f = fopen(argv[1], "w");
        if (f) {
            fprintf(f, "%d\n", (int)getpid());
            fclose(f);
        }
        freopen("/dev/null", "r+", stdin);
        dup2(0, 1);
        dup2(0, 2);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    waitpid(middle, NULL, 0);
    return 0;
}
