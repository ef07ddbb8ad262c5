/* SPDX-License-Identifier: MIT */
#include "source/machine/space.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct statvfs_record record;
    struct space space;
    fuzz_fill(&record, sizeof record);
    int r = parse_statvfs_record(fuzz_text(data, size), &record);
    if (r < 0)
        CHECK(r == -EBADMSG && fuzz_is_filled(&record, sizeof record));
    else
        CHECK(*record.point.at == '/' && record.point.end < (const char *)data + size);
    fuzz_fill(&space, sizeof space);
    r = statvfs_record_find(fuzz_text(data, size), "/", &space);
    CHECK(r == 0 || (r == -ENODATA && fuzz_is_filled(&space, sizeof space)));
    return 0;
}
