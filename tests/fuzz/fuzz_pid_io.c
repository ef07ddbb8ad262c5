/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "fuzz.h"

/* What was read, written as the kernel does, reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pid_io io, again;
    fuzz_fill(&io, sizeof io);
    int r = parse_pid_io(fuzz_text(data, size), &io);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &io);
        return 0;
    }
    char text[512];
    int length = snprintf(
        text, sizeof text,
        "rchar: %ju\nwchar: %ju\nsyscr: %ju\nsyscw: %ju\nread_bytes: %ju\nwrite_bytes: %ju\n"
        "cancelled_write_bytes: %ju\n",
        io.read_bytes, io.written_bytes, io.read_calls, io.write_calls, io.storage_read_bytes,
        io.storage_written_bytes, io.storage_cancelled_bytes);
    CHECK(parse_pid_io(scan_text(text, (size_t)length), &again) == 0);
    CHECK(memcmp(&io, &again, sizeof io) == 0);
    return 0;
}
