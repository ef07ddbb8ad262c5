/* SPDX-License-Identifier: MIT
 * What looks like a secret in text that is stored or shown: command lines, labels, sentences. It is
 * replaced by *** where such text enters the program, so that no output has to know about it.
 *
 * Recognized are values of options and variables whose name says so (--password X, --token=X,
 * API_KEY=X, "secret": "X"), passwords in URLs, headers of authorization, tokens of well-known form
 * (ghp_…, AKIA…), and single-letter options of programs where they are a password (mysql -pX), or
 * -p after -u NAME of any program; also inside a script that is one word (sh -c '…'). It is a best
 * effort: a secret that nothing announces is not recognized. */
#pragma once

#include "base/text/buf.h"

/* A copy of a command's words, NULL-terminated. The caller frees the words and the list; NULL
 * without memory. */
char **secrets_mask_command(const char *const words[]);

/* Adds text of any kind: a script, a header, a document in JSON. */
void secrets_mask_text(struct buf *b, const char *text, size_t length);

/* A copy of "name=value", masked when the name says so; otherwise as text. The caller frees it;
 * NULL without memory. */
char *secrets_mask_pair(const char *pair);

/* For a sentence of our own that quotes something: only passwords in URLs, name=value and tokens of
 * well-known form, since "--password: expected a file" is no secret. It is cut to fit. */
void secrets_mask_sentence(char *sentence, size_t capacity);
