/* SPDX-License-Identifier: MIT
 * The columns of the tables of a SQLite file, but for those of metrics. Every table begins with the
 * run. */
#pragma once

enum { SQLITE_TABLE_COLUMNS = 15 };

struct sqlite_table_column {
    const char *name;
    const char *type;
};

struct sqlite_table {
    const char *name;
    unsigned keys; /* how many of the columns tell its rows apart */
    struct sqlite_table_column columns[SQLITE_TABLE_COLUMNS]; /* name NULL behind the last */
};

/* By the number of its statement, from STATEMENT_ENTITY on. Those of samples have the name of their
 * kind in front. */
const struct sqlite_table *sqlite_table(unsigned number);
