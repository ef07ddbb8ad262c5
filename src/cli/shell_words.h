/* SPDX-License-Identifier: MIT */
#pragma once

/* Splits a command as a shell does: blanks separate, quotes and backslashes hold together and are
 * taken away. Nothing is expanded, and | > & ; are words like others: who wants a shell calls one.
 * The list, NULL behind the last, is one block of memory for the caller to free. 0, -ENOMEM, or
 * -EINVAL when a quote or a backslash has no end; *ret_why then tells which. */
int shell_words(const char *text, char ***ret, const char **ret_why);
