/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"

#include "fuzz.h"

static const struct sink_option table[] = {
    {{"every", "TIME", "5s", "a time"}, OPTION_DURATION, false},
    {{"queue", "SIZE", "16MiB", "a size"}, OPTION_SIZE, false},
    {{"share", "NUMBER", "", "a number"}, OPTION_NUMBER, false},
    {{"name", "TEXT", "", "a text"}, OPTION_TEXT, false},
    {{"header", "TEXT", "", "several"}, OPTION_TEXT, true},
    {{"mode", "no|yes", "no", "a word"}, OPTION_WORD, false},
    {.facts = {0}},
};

/* Every comma is doubled or ends something. */
static size_t options_in(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        if (*text == ',' && text[1] == ',')
            text++;
        else
            count += *text == ',';
    return count;
}

/* What is accepted has its defaults; what is not says why; a kind without options takes all as it
 * is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    struct sink_settings s;
    struct toll_error e = {0};
    char *place = NULL;
    CHECK(sink_options_read(&s, &place, "x", NULL, text, &e) == 0 && strcmp(place, text) == 0);
    sink_options_done(&s);
    free(place);
    place = NULL;
    int r = sink_options_read(&s, &place, "x", table, text, &e);
    if (r < 0) {
        CHECK(r == -EINVAL && e.code == r && *e.message && !place);
        CHECK(options_in(text) > 0);
        return 0;
    }
    CHECK(place && strlen(place) <= strlen(text));
    CHECK(sink_options_text(&s, "every") && sink_options_text(&s, "queue"));
    CHECK(sink_options_u64(&s, "mode") <= 1);
    CHECK(sink_options_has(&s, "every") || sink_options_u64(&s, "every") == 5000000000U);
    const char *name = sink_options_text(&s, "name");
    CHECK(!name == !sink_options_has(&s, "name") && (!name || *name));
    sink_options_done(&s);
    free(place);
    return 0;
}
