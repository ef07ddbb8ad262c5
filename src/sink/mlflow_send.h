/* SPDX-License-Identifier: MIT
 * Sends what an output to MLflow has put aside. */
#pragma once

#include "toll.h"

/* As toll_send says. */
int mlflow_send(const char *spool, const char *destination, struct toll_sent *ret,
                struct toll_error *e);
