/* SPDX-License-Identifier: MIT */
#include "source/net/interfaces.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan text = fuzz_text(data, size);
    for (;;) {
        const char *before = text.at;
        struct net_dev dev;
        fuzz_fill(&dev, sizeof dev);
        int r = parse_net_dev(&text, &dev);
        CHECK(text.at >= before && text.at <= text.end);
        if (r <= 0) {
            CHECK(r == 0 || r == -EBADMSG);
            CHECK(fuzz_is_filled(&dev, sizeof dev));
            return 0;
        }
        CHECK(text.at > before && text.at[-1] == '\n');
        CHECK(dev.name[0] && !dev.name[NET_DEV_NAME_BYTES - 1]);
        CHECK(memmem(data, size, dev.name, strlen(dev.name)));
    }
}
