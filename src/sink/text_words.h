/* SPDX-License-Identifier: MIT
 * Words on a terminal: colours, lines broken at words, names that come from outside. */
#pragma once

#include "sink/sink.h"

enum { TEXT_LINE = 80 };

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

/* Stands for a blank at which no line is broken. */
#define UNBROKEN '\x1f'

/* Only where colours are wanted. */
void text_style(struct sink *s, const char *sequence);

/* Text with a lead, broken at words, the further lines hanging below the first. */
void text_paragraph(struct sink *s, const char *lead, const char *text);

/* A name from outside, without what could move the cursor or change colours. */
void text_foreign(struct sink *s, const char *text);

/* A command as one could type it. */
void text_command(struct sink *s, char *const *command);
