/* SPDX-License-Identifier: MIT
 * A configuration file: it is taken, or a sentence says what is wrong with it. */
#include "cli/options.h"
#include "mutate.h"
#include "scratch_file.h"

const struct subcommand subcommands[] = {
    {.name = "run", .options = FOR_RUN},
    {.name = "attach", .options = FOR_ATTACH},
    {.name = "system", .options = FOR_SYSTEM},
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
    static const char *const known[] = {
        "[run]",
        "[attach]",
        "[system]",
        "[nobody]",
        "[run",
        "# comment",
        "; comment",
        "interval = auto",
        "interval = 0",
        "interval = 99999999999999999999s",
        "output = a.csv",
        "output = a.jsonl,every=2s",
        "output = prometheus:http://h:1/write,queue=1MiB,header=A: b",
        "format = jsonl",
        "label = a=b",
        "label = =",
        "metrics = cpu_*,!memory_*",
        "metrics = nothing_has_this_name",
        "processes = all",
        "memory = rss",
        "dialect = gpu-tracker,ram_unit=bytes",
        "timeout = 10m",
        "for = 5s",
        "name = a b",
        "quiet = yes",
        "quiet = maybe",
        "quiet",
        "since-start = no",
        "no-children = yes",
        "match = pytest*",
        "summary = json",
        "summary-to = cost.json",
        "no-such-option = 1",
        NULL,
    };
    return seed % 2 ? mutate_cells(data, size, max, seed, "=")
                    : mutate_lines(data, size, max, seed, known);
}
