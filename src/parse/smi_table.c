/* SPDX-License-Identifier: MIT
 *
 * index, uuid, utilization.gpu [%], memory.used [MiB]
 * 0, GPU-5a1c, 37, 1024
 * 1, GPU-77ef, [N/A], [Unknown Error]
 *
 * # gpu         pid   type     sm    mem    enc    dec    jpg    ofa    fb   command
 * # Idx           #    C/G      %      %      %      %      %      %    MB   name
 *     0       81231     C     45     20      -      -      -      -   1024   python
 *
 * Field "memory.reserved" is not a valid field to query.
 */
#include "parse/smi_table.h"

#include "base/util.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct scan trim(struct scan s)
{
    while (s.at < s.end && is_blank(*s.at))
        s.at++;
    while (s.at < s.end && is_blank(s.end[-1]))
        s.end--;
    return s;
}

void smi_cells_of_csv(struct scan line, struct smi_cells *ret)
{
    ret->count = 0;
    if (scan_done(&line))
        return;
    while (ret->count < SMI_COLUMNS) {
        const char *comma = memchr(line.at, ',', (size_t)(line.end - line.at));
        const char *end = comma ? comma : line.end;
        ret->cells[ret->count++] = trim((struct scan){line.at, end});
        if (!comma)
            break;
        line.at = comma + 1;
    }
}

void smi_cells_of_words(struct scan line, struct smi_cells *ret)
{
    ret->count = 0;
    line = trim(line);
    scan_word(&line, "#");
    for (line = trim(line); !scan_done(&line) && ret->count < SMI_COLUMNS; line = trim(line)) {
        struct scan cell = {line.at, line.at};
        while (cell.end < line.end && !is_blank(*cell.end))
            cell.end++;
        ret->cells[ret->count++] = cell;
        line.at = cell.end;
    }
}

static bool is_name(struct scan cell, const char *name, size_t length)
{
    const char *unit = memchr(cell.at, '[', (size_t)(cell.end - cell.at));
    if (unit)
        cell.end = unit;
    cell = trim(cell);
    return (size_t)(cell.end - cell.at) == length && memcmp(cell.at, name, length) == 0;
}

int smi_column(const struct smi_cells *heading, const char *names)
{
    for (const char *name = names, *end; *name; name = *end ? end + 1 : end) {
        end = strchrnul(name, '|');
        for (unsigned i = 0; i < heading->count; i++)
            if (is_name(heading->cells[i], name, (size_t)(end - name)))
                return (int)i;
    }
    return -1;
}

static bool cell_of(const struct smi_cells *row, int column, struct scan *ret)
{
    if (column < 0 || (unsigned)column >= row->count)
        return false;
    *ret = row->cells[column];
    return true;
}

bool smi_number(const struct smi_cells *row, int column, double *ret)
{
    struct scan cell;
    double value;
    if (!cell_of(row, column, &cell) || !scan_decimal(&cell, &value) || !scan_done(&cell))
        return false;
    *ret = value;
    return true;
}

bool smi_whole(const struct smi_cells *row, int column, uint64_t *ret)
{
    struct scan cell;
    uint64_t value;
    if (!cell_of(row, column, &cell) || !scan_u64(&cell, &value) || !scan_done(&cell))
        return false;
    *ret = value;
    return true;
}

bool smi_word(const struct smi_cells *row, int column, char *ret, size_t capacity)
{
    struct scan cell;
    if (!cell_of(row, column, &cell))
        return false;
    size_t length = (size_t)(cell.end - cell.at);
    if (!length || length >= capacity || *cell.at == '[' || is_name(cell, "-", 1) ||
        is_name(cell, "N/A", 3))
        return false;
    for (const char *c = cell.at; c < cell.end; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return false;
    memcpy(ret, cell.at, length);
    ret[length] = '\0';
    return true;
}

void smi_fold_pci(char *pci)
{
    for (char *c = pci; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 'a' - 'A');
    if (strncmp(pci, "0000", 4) == 0 && strlen(pci) > 8 && pci[8] == ':')
        memmove(pci, pci + 4, strlen(pci + 4) + 1);
}

/* The field at that place of the list, with the comma in front of it or behind it. */
static void cut_out(char *fields, char *at, size_t length)
{
    char *end = at + length;
    if (*end == ',')
        end++;
    else if (at > fields)
        at--;
    memmove(at, end, strlen(end) + 1);
}

bool smi_drop_field(char *fields, struct scan text)
{
    if (!scan_word(&text, "Field \""))
        return false;
    const char *quote = memchr(text.at, '"', (size_t)(text.end - text.at));
    size_t length = quote ? (size_t)(quote - text.at) : 0;
    for (char *at = fields, *end; length && *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, ',');
        if ((size_t)(end - at) != length || memcmp(at, text.at, length) != 0)
            continue;
        cut_out(fields, at, length);
        return true;
    }
    return false;
}
