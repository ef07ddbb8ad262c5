/* SPDX-License-Identifier: MIT
 * Tables that nvidia-smi, amd-smi and rocm-smi print: with commas between, or with blanks. Columns
 * move between versions, so they are found by the names in the heading. */
#pragma once

#include "base/scan.h"

enum { SMI_COLUMNS = 64 };

struct smi_cells {
    struct scan cells[SMI_COLUMNS];
    unsigned count;
};

/* Cells of a line with commas between, blanks at their ends cut off. Those beyond the most are left
 * out. */
void smi_cells_of_csv(struct scan line, struct smi_cells *ret);

/* … of one with blanks between; the # that begins a heading is no cell. */
void smi_cells_of_words(struct scan line, struct smi_cells *ret);

/* The place of the column that has one of the names, with | between, or -1. A unit in brackets
 * behind a name does not count: "memory.used [MiB]". */
int smi_column(const struct smi_cells *heading, const char *names);

/* The value of a column as a number, as text. False when the column is not there, or it has no
 * value:
 * -, N/A, [N/A], [Not Supported], [Unknown Error] and whatever else is no number. */
bool smi_number(const struct smi_cells *row, int column, double *ret);
bool smi_whole(const struct smi_cells *row, int column, uint64_t *ret);
bool smi_word(const struct smi_cells *row, int column, char *ret, size_t capacity);

/* 00000000:3B:00.0 as the kernel writes it, 0000:3b:00.0, in place. */
void smi_fold_pci(char *pci);

/* An nvidia-smi that does not know a field says so: takes it out of the list, with commas between.
 * False when it is not in there, or that was not what it said. */
bool smi_drop_field(char *fields, struct scan text);
