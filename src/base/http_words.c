/* SPDX-License-Identifier: MIT
 * What responses mean, whoever brought them. */
#include "base/http.h"

#include "base/secrets.h"
#include "base/utf8.h"

#include <stdio.h>

bool http_is_worth_a_retry(int status)
{
    return status == 408 || status == 429 || (status >= 500 && status != 501);
}

void http_describe(const struct http_response *response, char *ret, size_t capacity)
{
    size_t line = 0;
    while (line < response->length && line < 160 && response->body[line] != '\n' &&
           response->body[line] != '\r')
        line++;
    bool is_page = line && response->body[0] == '<'; /* HTML tells nothing in a line */
    snprintf(ret, capacity, "it answered %d%s%.*s", response->status, line && !is_page ? ": " : "",
             is_page ? 0 : (int)line, line ? response->body : "");
    secrets_mask_sentence(ret, capacity);
    text_make_printable(ret);
}
