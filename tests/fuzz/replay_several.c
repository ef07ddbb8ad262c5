/* SPDX-License-Identifier: MIT
 * The targets of a file with several of them, for one program that replays them all: TARGETS is
 * TARGET(name) for each. A corpus has the name of its target. */
#include "mutate.h"

#define TARGET(name) int fuzz_##name(const uint8_t *data, size_t size);
TARGETS
#undef TARGET

#define TARGET(name) {#name, fuzz_##name},
static const struct {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {TARGETS};

static int (*chosen)(const uint8_t *data, size_t size);

void replay_choose(const char *corpus)
{
    const char *slash = strrchr(corpus, '/');
    const char *name = slash ? slash + 1 : corpus;
    chosen = NULL;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        if (strcmp(targets[i].name, name) == 0)
            chosen = targets[i].run;
    CHECK(chosen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return chosen(data, size);
}
