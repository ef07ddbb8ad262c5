/* SPDX-License-Identifier: MIT */
#include "cli/crash.h"

#include "base/util.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* What is done about them otherwise: the default, or what a sanitizer does. */
static struct sigaction before[ARRAY_LEN(faults)];

static void do_as_before(int number)
{
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        if (faults[i] == number)
            sigaction(number, &before[i], NULL);
    raise(number);
}

/* The thread's own doing, not a signal that somebody sent to the program. */
static bool is_fault(const siginfo_t *info)
{
    return info->si_code > 0 || (info->si_code == SI_TKILL && info->si_pid == getpid());
}

/* A thread may not pass a signal on as sent by kill; as queued it may, and the sender stays. */
static void hand_on(siginfo_t *info, pid_t thread)
{
    info->si_code = SI_QUEUE;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, info->si_signo, info);
}

static void handle(int number, siginfo_t *info, void *context)
{
    (void)context;
    pid_t first = getpid();
    if (syscall(SYS_gettid) == first) {
        do_as_before(number);
        return;
    }
    if (!is_fault(info)) { /* it is for the first thread, which looks whom it is from */
        hand_on(info, first);
        return;
    }
    for (;;)
        pause();
}

void crash_contain(void)
{
    struct sigaction stop = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigfillset(&stop.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        if (sigaction(faults[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            sigaction(faults[i], &stop, NULL);
}

static bool is_alone(void)
{
    struct stat tasks;
    enum { OF_A_DIRECTORY = 2 };
    return stat("/proc/self/task", &tasks) < 0 || tasks.st_nlink <= OF_A_DIRECTORY + 1;
}

void crash_exit(int status)
{
    if (is_alone())
        exit(status);
    fflush(stdout); /* not all there are: a thread may hold one of its own */
    _exit(status);
}
