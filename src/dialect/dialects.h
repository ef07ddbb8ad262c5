/* SPDX-License-Identifier: MIT
 * The dialects by name; only dialects.c needs them. */
#pragma once

#include "dialect/dialect.h"

extern const struct dialect dialect_resource_tracker;
extern const struct dialect dialect_gpu_tracker;
extern const struct dialect dialect_spdl;
extern const struct dialect dialect_process_metrics;
extern const struct dialect dialect_sweep;
extern const struct dialect dialect_mlflow_system;
