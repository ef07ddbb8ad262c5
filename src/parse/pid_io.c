/* SPDX-License-Identifier: MIT
 *
 * rchar: 323934931
 * wchar: 323929600
 * syscr: 632687
 * syscw: 632675
 * read_bytes: 0
 * write_bytes: 323932160
 * cancelled_write_bytes: 0
 */
#include "parse/pid_io.h"

#include "parse/keyed.h"

enum { RCHAR, WCHAR, SYSCR, SYSCW, READ, WRITE, CANCELLED, KEYS };

static const struct keyed keys[KEYS] = {
    [RCHAR] = {"rchar:", scan_u64},
    [WCHAR] = {"wchar:", scan_u64},
    [SYSCR] = {"syscr:", scan_u64},
    [SYSCW] = {"syscw:", scan_u64},
    [READ] = {"read_bytes:", scan_u64},
    [WRITE] = {"write_bytes:", scan_u64},
    [CANCELLED] = {"cancelled_write_bytes:", scan_u64},
};

static inline bool read_line(struct scan *text, const char *key, uint64_t *ret)
{
    return scan_word(text, key) && scan_u64(text, ret) && scan_word(text, "\n");
}

/* As every kernel so far writes it: the text is read but once. */
static bool read_in_order(struct scan text, uint64_t values[KEYS])
{
    return read_line(&text, "rchar:", &values[RCHAR]) &&
           read_line(&text, "wchar:", &values[WCHAR]) &&
           read_line(&text, "syscr:", &values[SYSCR]) &&
           read_line(&text, "syscw:", &values[SYSCW]) &&
           read_line(&text, "read_bytes:", &values[READ]) &&
           read_line(&text, "write_bytes:", &values[WRITE]) &&
           read_line(&text, "cancelled_write_bytes:", &values[CANCELLED]);
}

int parse_pid_io(struct scan text, struct pid_io *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    uint64_t values[KEYS];
    if (!read_in_order(text, values) && keyed_read(text, keys, KEYS, values) != BIT(KEYS) - 1)
        return -EBADMSG;
    *ret = (struct pid_io){
        .read_bytes = values[RCHAR],
        .written_bytes = values[WCHAR],
        .read_calls = values[SYSCR],
        .write_calls = values[SYSCW],
        .storage_read_bytes = values[READ],
        .storage_written_bytes = values[WRITE],
        .storage_cancelled_bytes = values[CANCELLED],
    };
    return 0;
}
