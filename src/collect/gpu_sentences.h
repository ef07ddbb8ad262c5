/* SPDX-License-Identifier: MIT
 * What those who read GPUs have to tell people, once each. */
#pragma once

#include "collect/gpu_vendor.h"

struct gpu_sentences {
    struct gpu_trouble said[32];
    unsigned said_count, told_count;
};

/* One that is empty, or was said before, is not said again. */
void gpu_sentences_say(struct gpu_sentences *s, const struct gpu_trouble *trouble);
void gpu_sentences_say_lost(struct gpu_sentences *s, const struct gpu_device *d);

/* The next that nobody was told yet; false: there is none. */
bool gpu_sentences_tell(struct gpu_sentences *s, struct gpu_trouble *ret);
