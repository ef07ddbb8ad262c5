/* SPDX-License-Identifier: MIT */
#include "base/signal_name.h"

#include "base/util.h"

#include <signal.h>

const char *signal_name(int number)
{
    static const char *const names[] = {
        [SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT",   [SIGILL] = "ILL",
        [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",     [SIGFPE] = "FPE",
        [SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV",   [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM",   [SIGCHLD] = "CHLD",
        [SIGCONT] = "CONT", [SIGSTOP] = "STOP",     [SIGTSTP] = "TSTP",   [SIGTTIN] = "TTIN",
        [SIGTTOU] = "TTOU", [SIGURG] = "URG",       [SIGXCPU] = "XCPU",   [SIGXFSZ] = "XFSZ",
        [SIGPROF] = "PROF", [SIGVTALRM] = "VTALRM", [SIGWINCH] = "WINCH", [SIGIO] = "IO",
        [SIGPWR] = "PWR",   [SIGSYS] = "SYS",
    };
    return number > 0 && (size_t)number < ARRAY_LEN(names) ? names[number] : NULL;
}
