/* SPDX-License-Identifier: MIT */
#include "collect/gpu_sentences.h"

#include <stdio.h>
#include <string.h>

void gpu_sentences_say(struct gpu_sentences *s, const struct gpu_trouble *trouble)
{
    if (!*trouble->sentence || s->said_count == ARRAY_LEN(s->said))
        return;
    for (unsigned i = 0; i < s->said_count; i++)
        if (strcmp(s->said[i].sentence, trouble->sentence) == 0)
            return;
    s->said[s->said_count++] = *trouble;
}

void gpu_sentences_say_lost(struct gpu_sentences *s, const struct gpu_device *d)
{
    const struct gpu_facts *f = &d->facts;
    struct gpu_trouble trouble;
    snprintf(trouble.sentence, sizeof trouble.sentence,
             "%s's GPU %u (%s) is lost: %s, and its figures end here", d->vendor->people, f->index,
             *f->uuid ? f->uuid : f->pci, d->vendor->lost);
    gpu_sentences_say(s, &trouble);
}

bool gpu_sentences_tell(struct gpu_sentences *s, struct gpu_trouble *ret)
{
    if (s->told_count == s->said_count)
        return false;
    *ret = s->said[s->told_count++];
    return true;
}
