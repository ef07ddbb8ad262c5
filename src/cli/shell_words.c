/* SPDX-License-Identifier: MIT */
#include "cli/shell_words.h"

#include "base/util.h"

#include <string.h>

static const char blanks[] = " \t\r\n";

/* One word from *at on, written to `to`, which has room for all of it. */
static int take_word(const char **at, char **to, const char **ret_why)
{
    const char *c = *at;
    char *out = *to;
    char quote = '\0';
    for (; *c && (quote || !strchr(blanks, *c)); c++) {
        if (quote == '\'' && *c != '\'') {
            *out++ = *c;
        } else if (*c == quote) {
            quote = '\0';
        } else if (!quote && (*c == '\'' || *c == '"')) {
            quote = *c;
        } else if (*c == '\\') {
            if (!c[1]) {
                *ret_why = "No escaped character";
                return -EINVAL;
            }
            bool special = !quote || strchr("$`\"\\\n", c[1]);
            if (!special)
                *out++ = '\\';
            c++;
            if (*c != '\n') /* a line that goes on */
                *out++ = *c;
        } else {
            *out++ = *c;
        }
    }
    if (quote) {
        *ret_why = "No closing quotation";
        return -EINVAL;
    }
    *out++ = '\0';
    *at = c;
    *to = out;
    return 0;
}

int shell_words(const char *text, char ***ret, const char **ret_why)
{
    size_t length = strlen(text), most = length / 2 + 2; /* words, with the NULL behind them */
    char **words = malloc(most * sizeof *words + length + 1);
    if (!words)
        return -ENOMEM;
    char *to = (char *)(words + most);
    size_t count = 0;
    for (const char *at = text + strspn(text, blanks); *at; at += strspn(at, blanks)) {
        words[count] = to;
        if (take_word(&at, &to, ret_why) < 0) {
            free(words);
            return -EINVAL;
        }
        count++;
    }
    words[count] = NULL;
    *ret = words;
    return 0;
}
