/* SPDX-License-Identifier: MIT */
#include "base/text/secrets.h"

#include "fuzz.h"

static char **mask_and_check(const char *const words[])
{
    char **masked = secrets_mask_command(words);
    CHECK(masked);
    size_t i = 0;
    for (; words[i]; i++)
        CHECK(masked[i]);
    CHECK(!masked[i]);
    return masked;
}

static void free_words(char **words)
{
    for (char **w = words; *w; w++)
        free(*w);
    free(words);
}

/* Whatever it is, it is masked where it is announced, and text never grows by more than a mask for
 * each of its characters. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    size_t length = strlen(text);
    struct buf shown = {0};
    secrets_mask_text(&shown, text, length);
    CHECK(shown.length <= 4 * length + 4);
    buf_done(&shown);

    struct buf pair = {0};
    buf_puts(&pair, "DB_PASSWORD=");
    buf_puts(&pair, text);
    const char *const words[] = {"x", text, "--password", text, pair.data, NULL};
    char **masked = mask_and_check(words);
    bool is_option = text[0] == '-' && text[1] == '-';
    CHECK(!length || is_option || strcmp(masked[3], "***") == 0);
    CHECK(!length || strcmp(masked[4], "DB_PASSWORD=***") == 0 ||
          (is_option && strcmp(masked[4], "***") == 0));
    free_words(masked);
    buf_done(&pair);

    const char *const script[] = {"sh", "-c", text, NULL};
    free_words(mask_and_check(script));
    secrets_mask_sentence(text, length + 1);
    CHECK(strlen(text) <= length);
    return 0;
}
