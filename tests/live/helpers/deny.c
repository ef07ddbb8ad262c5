/* SPDX-License-Identifier: MIT
 * deny CALL ERRNO COMMAND…: the system call fails with ERRNO for the command and all it starts, as
 * in a sandbox. Exit status 77 where no filter of calls can be set up. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"bind", SYS_bind},
    {"bpf", SYS_bpf},
    {"clone3", SYS_clone3},
    {"kcmp", SYS_kcmp},
    {"perf_event_open", SYS_perf_event_open},
    {"pidfd_open", SYS_pidfd_open},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"set_robust_list", SYS_set_robust_list},
};

static int filter(unsigned number, unsigned error)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof rules / sizeof rules[0], .filter = rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 3 && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(argv[1], calls[i].name) != 0)
            continue;
        if (filter(calls[i].number, (unsigned)strtoul(argv[2], NULL, 10)) < 0)
            return 77;
        execvp(argv[3], argv + 3);
        return 127;
    }
    return 2;
}
