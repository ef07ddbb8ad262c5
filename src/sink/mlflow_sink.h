/* SPDX-License-Identifier: MIT
 * A sink of the kind mlflow, for those who send what it has put aside. */
#pragma once

#include "sink/mlflow_desk.h"

/* Borrowed from an open sink that has not begun. */
struct mlflow_desk *mlflow_sink_desk(struct sink *s);
