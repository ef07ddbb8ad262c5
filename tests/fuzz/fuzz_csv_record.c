/* SPDX-License-Identifier: MIT */
#include "base/text/scan.h"

#include "fuzz.h"

/* What was read, written again, is read as the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_record first = {0}, second = {0};
    struct buf again = {0};
    int r = parse_csv_record(fuzz_text(data, size), &first);
    if (r == 0) {
        for (size_t i = 0; i < first.count; i++) {
            buf_puts(&again, i ? "," : "");
            csv_record_write(&again, csv_record_cell(&first, i));
        }
        CHECK(!buf_failed(&again));
        r = parse_csv_record(scan_text(again.data ? again.data : "", again.length), &second);
        CHECK(r == 0 && first.count == second.count);
        for (size_t i = 0; i < first.count; i++)
            CHECK(strcmp(csv_record_cell(&first, i), csv_record_cell(&second, i)) == 0);
    } else {
        CHECK(r == -EAGAIN || r == -EBADMSG || r == -E2BIG);
    }
    buf_done(&again);
    csv_record_done(&first);
    csv_record_done(&second);
    return 0;
}
