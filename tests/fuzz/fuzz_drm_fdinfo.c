/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drm_fdinfo d;
    fuzz_fill(&d, sizeof d);
    int r = parse_drm_fdinfo(fuzz_text(data, size), &d);
    if (r < 0) {
        CHECK(r == -EBADMSG || r == -ENODATA);
        CHECK(fuzz_is_filled(&d, sizeof d));
        return 0;
    }
    CHECK(*d.driver && strlen(d.driver) < sizeof d.driver && strlen(d.pci) < sizeof d.pci);
    CHECK(d.engine_count <= DRM_ENGINES && d.region_count <= DRM_REGIONS);
    for (unsigned i = 0; i < d.engine_count; i++)
        CHECK(*d.engines[i].name && d.engines[i].capacity > 0);
    uint64_t bytes;
    if (drm_fdinfo_memory(&d, &bytes))
        CHECK(d.region_count > 0);
    return 0;
}
