/* SPDX-License-Identifier: MIT
 * Questions to the server before there is a courier, by a helper process: whatever the network, the
 * server or the lookup of its name do, it takes no longer than it may, and leaves nothing behind.
 */
#pragma once

#include "sink/mlflow_client.h"

/* Makes the run, so that the command can be told of it. 0; -ETIMEDOUT, -EIO, … and the reason in
 * *a. client->run has what is known either way. */
int mlflow_early_create(struct mlflow_client *c, uint64_t timeout_ns, struct attempt *a);

/* Does all operations of a text, as far as there is time. */
void mlflow_early_do(struct mlflow_client *c, uint64_t timeout_ns, const struct buf *ops);
