/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "fuzz.h"

/* What was read, written as the kernel does, reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pressure p, again;
    fuzz_fill(&p, sizeof p);
    int r = parse_pressure(fuzz_text(data, size), &p);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &p);
        return 0;
    }
    CHECK(memmem(data, size, "some ", 5) && (p.has_full || p.full_ns == 0));
    CHECK(p.some_ns % NS_PER_US == 0 && p.full_ns % NS_PER_US == 0);
    struct buf b = {0};
    buf_printf(&b, "some avg10=0.00 avg60=0.00 avg300=0.00 total=%ju\n", p.some_ns / NS_PER_US);
    if (p.has_full)
        buf_printf(&b, "full avg10=0.00 avg60=0.00 avg300=0.00 total=%ju\n", p.full_ns / NS_PER_US);
    CHECK(parse_pressure(scan_text(b.data, b.length), &again) == 0);
    CHECK(p.has_full == again.has_full && p.some_ns == again.some_ns && p.full_ns == again.full_ns);
    buf_done(&b);
    return 0;
}
