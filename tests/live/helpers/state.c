/* SPDX-License-Identifier: MIT
 * state FILE: what a program finds when it starts: signal mask and dispositions, group, session,
 * terminal, umask, limits, directory, descriptors, environment. One fact a line. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void put_signals(FILE *f)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "Sig", 3) == 0 || strncmp(line, "Shd", 3) == 0 ||
            strncmp(line, "Seccomp", 7) == 0 || strncmp(line, "NoNewPrivs", 10) == 0 ||
            strncmp(line, "Cap", 3) == 0 || strncmp(line, "Groups", 6) == 0)
            if (strncmp(line, "SigQ", 4) != 0)
                fputs(line, f);
    if (status)
        fclose(status);
}

static void put_descriptors(FILE *f)
{
    for (int fd = 0; fd < 64; fd++) {
        char link[32], name[256] = "closed";
        int flags = fcntl(fd, F_GETFD);
        if (fd == fileno(f) || (flags >= 0 && flags & FD_CLOEXEC))
            continue;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, name, sizeof name - 1);
        if (n < 0)
            continue;
        name[n] = '\0';
        fprintf(f, "fd %d %s %x\n", fd, name, fcntl(fd, F_GETFL));
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 100);
    if (high < 0)
        high = fd;
    else
        close(fd);
    FILE *f = fdopen(high, "w");
    if (!f)
        return 2;
    put_signals(f);
    put_descriptors(f);
    mode_t mask = umask(0);
    fprintf(f, "umask %03o\n", mask);
    char cwd[4096];
    fprintf(f, "cwd %s\n", getcwd(cwd, sizeof cwd) ? cwd : "?");
    fprintf(f, "group %d\nsession %d\n", (int)getpgrp(), (int)getsid(0));
    fprintf(f, "uid %d %d gid %d %d\n", (int)getuid(), (int)geteuid(), (int)getgid(),
            (int)getegid());
    int tty = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    fprintf(f, "terminal %d\n", tty >= 0);
    fprintf(f, "nice %d\n", getpriority(PRIO_PROCESS, 0));
    fprintf(f, "dumpable %d subreaper-inherits-not\n", prctl(PR_GET_DUMPABLE));
    for (int what = 0; what < RLIM_NLIMITS; what++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)what, &limit) == 0)
            fprintf(f, "limit %d %llu %llu\n", what, (unsigned long long)limit.rlim_cur,
                    (unsigned long long)limit.rlim_max);
    }
    for (char **e = environ; *e; e++)
        fprintf(f, "env %s\n", *e);
    return fclose(f) == 0 ? 0 : 2;
}
