/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"DRIVER", "PCI_ID", "PCI_SLOT_NAME"};
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        char value[16];
        fuzz_fill(value, sizeof value);
        int r = parse_uevent(fuzz_text(data, size), keys[k], value, sizeof value);
        CHECK(r == 0 || r == -EBADMSG || r == -ENODATA);
        CHECK(r == 0 ? strnlen(value, sizeof value) < sizeof value
                     : fuzz_is_filled(value, sizeof value));
    }
    return 0;
}
