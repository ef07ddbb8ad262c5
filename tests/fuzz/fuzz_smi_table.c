/* SPDX-License-Identifier: MIT */
#include "source/gpu/smi_command.h"

#include "fuzz.h"

static void check_cells(const struct smi_cells *c, struct scan line)
{
    CHECK(c->count <= SMI_COLUMNS);
    for (unsigned i = 0; i < c->count; i++) {
        const struct scan *cell = &c->cells[i];
        CHECK(line.at <= cell->at && cell->at <= cell->end && cell->end <= line.end);
        double number;
        uint64_t whole;
        char word[8];
        CHECK(!smi_whole(c, (int)i, &whole) || smi_number(c, (int)i, &number));
        if (smi_word(c, (int)i, word, sizeof word)) {
            CHECK(*word && strlen(word) < sizeof word);
            smi_fold_pci(word);
        }
    }
    CHECK(smi_column(c, "gpu|pid") < (int)c->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan text = fuzz_text(data, size), line;
    struct smi_cells c;
    while (scan_line(&text, &line)) {
        smi_cells_of_csv(line, &c);
        check_cells(&c, line);
        smi_cells_of_words(line, &c);
        check_cells(&c, line);
    }
    char fields[] = "index,uuid,memory.reserved";
    size_t length = strlen(fields);
    bool is_dropped = smi_drop_field(fields, fuzz_text(data, size));
    CHECK(is_dropped == (strlen(fields) < length));
    return 0;
}
