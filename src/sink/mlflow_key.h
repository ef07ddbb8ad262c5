/* SPDX-License-Identifier: MIT
 * Names that an MLflow server takes for metrics and tags: [A-Za-z0-9_./: -], at most 250 of them,
 * and such that a path would be (no empty part, no "." or "..", none at either end). */
#pragma once

#include "base/buf.h"

enum { MLFLOW_KEY_BYTES = 250 };

/* Adds what a name would be without the letters it must not have, which become _. One that is too
 * long is cut, and ends with a number made of all of it. */
void mlflow_key(struct buf *b, const char *name);

/* The same for one part of a name, which has no slash then. */
void mlflow_key_part(struct buf *b, const char *name);
