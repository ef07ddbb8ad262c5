/* SPDX-License-Identifier: MIT */
#include "dialect/dialects.h"

const struct dialect *const dialects[] = {
    &dialect_resource_tracker,
    &dialect_gpu_tracker,
    &dialect_spdl,
    &dialect_process_metrics,
    &dialect_sweep,
    &dialect_mlflow_system,
    NULL,
};
