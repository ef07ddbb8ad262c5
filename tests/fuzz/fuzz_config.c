/* SPDX-License-Identifier: MIT
 * A configuration file: it is taken, or a sentence says what is wrong with it. */
#include "cli/options.h"
#include "mutate.h"
#include "scratch_file.h"

const struct subcommand subcommands[] = {
    {"run", "", "", NULL, false, FOR_RUN, NULL, NULL},
    {"attach", "", "", NULL, false, FOR_ATTACH, NULL, NULL},
    {"system", "", "", NULL, false, FOR_SYSTEM, NULL, NULL},
    {0},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = scratch_path("config");
    scratch_write(path, data, size);
    for (const struct subcommand *c = subcommands; c->name; c++) {
        struct settings s = {.mode = c->options, .subcommand = c->name};
        struct toll_error e = {0};
        int r = config_read(&s, path, &e);
        CHECK(r == 0 || (r == -EINVAL && *e.message));
        settings_done(&s);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return mutate_cells(data, size, max, seed, "=");
}
