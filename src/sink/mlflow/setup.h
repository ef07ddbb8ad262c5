/* SPDX-License-Identifier: MIT
 * Which server, who we are there, and which run: what options and the variables of MLflow say. */
#pragma once

#include "sink/mlflow/client.h"

/* Puts the URL of the server, without slashes at its end, into sink->place, and opens HTTP with the
 * variables that MLflow's own clients know. */
int mlflow_setup_server(struct sink *s, struct http **ret, struct toll_error *e);

/* The run to join, or the experiment that one is made in. by_variable: MLFLOW_RUN_ID counts. */
int mlflow_setup_run(struct sink *s, struct mlflow_client *c, bool by_variable,
                     struct toll_error *e);

/* Several in one run would write over each other's figures: each has its place. "": it has none. */
void mlflow_setup_node(const struct sink *s, bool is_joined, char ret[MLFLOW_ID_BYTES]);

/* Whether a variable makes programs log MLflow's own system metrics into their runs. */
bool mlflow_setup_has_monitor(void);

/* Whether MLFLOW_TRACKING_URI is that server already, with or without a password in it. */
bool mlflow_setup_is_known(const struct sink *s);
