/* SPDX-License-Identifier: MIT
 * A spool, up to where it would be sent: it is none of toll's, or its operations are read in whole,
 * and what is cut short at its end is left out. */
#include "mutate.h"
#include "scratch_file.h"
#include "sink/spool.h"

static int visit(void *arg, const struct spool_op *op)
{
    uint64_t *bytes = arg;
    CHECK(op->kind < SPOOL_OPS && op->name.at <= op->name.end && op->body.at <= op->body.end);
    *bytes += (uint64_t)(op->body.end - op->body.at);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = scratch_path("spool");
    struct spool_file spool;
    uint64_t at = 0, bytes = 0;
    scratch_write(path, data, size);
    CHECK(spool_file_open(&spool, path) == 0);
    int r = spool_file_each(&spool, &at, visit, &bytes);
    CHECK((r == 0 && at == size) || r == -EBADMSG);
    CHECK(at <= size && bytes <= at);
    close(spool.fd);
    free(spool.path);

    struct toll_sent sent = {.size = sizeof sent};
    struct toll_error e = {0};
    CHECK(spool_send(path, "nowhere:elsewhere", &sent, &e) == -EINVAL && *e.message);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char *const known[] = {
        "toll-spool mlflow 2",
        "{}",
        "to - 8",
        "mlflow:x",
        "batch - 2",
        "samples 12 0",
        "toll-spool prometheus 2",
        "request 5 2",
        "skip 3 0",
        "sent 20 1",
        "run 0123456789abcdef0123456789abcdef 0",
        "create - 2",
        "experiment 7 2",
        "update - 2",
        "artifact toll/summary.json 2",
        "batch - 0",
        "batch - 99999999999",
        "samples -1 0",
        "{\"metrics\":[{\"key\":\"a\",\"value\":1,\"timestamp\":2,\"step\":3}]}",
        NULL,
    };
    return seed % 3 == 0   ? mutate_json_lines(data, size, max, seed)
           : seed % 3 == 1 ? mutate_cells(data, size, max, seed, " ")
                           : mutate_lines(data, size, max, seed, known);
}
