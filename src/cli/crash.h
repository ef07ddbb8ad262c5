/* SPDX-License-Identifier: MIT
 * What a GPU's driver does in this program must not harm the command: neither a fault in its
 * library, nor a call of it that never returns. */
#pragma once

/* A thread that faults stops for ever, unless it is the first one. A driver then looks as if it
 * hung. */
void crash_contain(void);

/* Ends the program with that status. When a thread is left behind, without asking libraries to tidy
 * up: one that hangs may hold what they wait for. */
_Noreturn void crash_exit(int status);
