/* SPDX-License-Identifier: MIT
 * What a server of MLflow says, in as far as it matters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The text of the first member of that name that is one, at whatever depth:
 * {"run":{"info":{"run_id":"ab"}}}. False when there is none, it has other letters than those of
 * ASCII, or does not fit. */
bool mlflow_answer_text(const char *body, size_t length, const char *name, char *ret,
                        size_t capacity);

/* Whether its "error_code" is that word. */
bool mlflow_answer_is(const char *body, size_t length, const char *error_code);
