/* SPDX-License-Identifier: MIT */
#pragma once

/* The page of a subcommand, on stdout. */
int help_subcommand(const char *name);
