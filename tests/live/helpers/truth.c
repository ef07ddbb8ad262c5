/* SPDX-License-Identifier: MIT
 * truth FILE COMMAND…: run the command, wait for it, and write what wait4 and the waiter's own
 * getrusage say into FILE as JSON. Ends as the command did. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(FILE *f, const char *name, const struct rusage *u, const char *end)
{
    fprintf(f,
            "\"%s\":{\"cpu\":%lld.%06ld,\"user\":%lld.%06ld,\"system\":%lld.%06ld,\"minor\":%ld,"
            "\"major\":%ld,\"voluntary\":%ld,\"involuntary\":%ld,\"maxrss\":%ld}%s",
            name,
            (long long)(u->ru_utime.tv_sec + u->ru_stime.tv_sec +
                        (u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1000000),
            (u->ru_utime.tv_usec + u->ru_stime.tv_usec) % 1000000, (long long)u->ru_utime.tv_sec,
            (long)u->ru_utime.tv_usec, (long long)u->ru_stime.tv_sec, (long)u->ru_stime.tv_usec,
            u->ru_minflt, u->ru_majflt, u->ru_nvcsw, u->ru_nivcsw, u->ru_maxrss * 1024, end);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    FILE *f = fopen(argv[1], "w");
    if (!f)
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        fclose(f);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    int status;
    struct rusage child, self;
    if (wait4(pid, &status, 0, &child) != pid)
        return 2;
    fputc('{', f);
    put(f, "child", &child, ",");
    getrusage(RUSAGE_SELF, &self);
    put(f, "self", &self, "}\n");
    fclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
