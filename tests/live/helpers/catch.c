/* SPDX-License-Identifier: MIT
 * catch [group|child SIGNAL]: tells on stdout "ready PID", then "got N" for every signal that
 * comes, until stdin ends; exits with 0. With `group` it sends SIGNAL to its own process group
 * once; with `child` a child does, and stays a moment so that it can be asked whose child it is. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void got(int number)
{
    char text[] = "got 00\n";
    text[4] = (char)('0' + number / 10);
    text[5] = (char)('0' + number % 10);
    if (write(1, text, sizeof text - 1) < 0)
        _exit(3);
}

static void send(const char *who, int number)
{
    if (strcmp(who, "group") == 0) {
        kill(0, number);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        signal(number, SIG_IGN);
        kill(0, number);
        usleep(300000);
        _exit(0);
    }
    while (waitpid(pid, NULL, 0) < 0)
        ;
}

int main(int argc, char **argv)
{
    struct sigaction a = {.sa_handler = got};
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGCHLD && number != SIGSEGV && number != SIGABRT)
            sigaction(number, &a, NULL);
    char text[64];
    int n = snprintf(text, sizeof text, "ready %d\n", (int)getpid());
    if (write(1, text, (size_t)n) < 0)
        return 3;
    if (argc > 2)
        send(argv[1], atoi(argv[2]));
    ssize_t r;
    while ((r = read(0, text, sizeof text)) != 0)
        ;
    return 0;
}
