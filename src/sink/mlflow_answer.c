/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_answer.h"

#include "base/scan.h"

#include <string.h>

static void skip_white(struct scan *s)
{
    while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
        s->at++;
}

/* Behind the colon of the next member of that name. A quote inside of a text has a backslash before
 * it, so that a name in quotes with a colon behind it is a member's. */
static bool find_member(struct scan *s, const char *name)
{
    size_t length = strlen(name);
    while (s->at < s->end) {
        const char *quote = memchr(s->at, '"', (size_t)(s->end - s->at));
        if (!quote || (size_t)(s->end - quote) < length + 2)
            return false;
        s->at = quote + 1;
        if (memcmp(s->at, name, length) != 0 || s->at[length] != '"')
            continue;
        struct scan rest = {s->at + length + 1, s->end};
        skip_white(&rest);
        if (rest.at < rest.end && *rest.at == ':') {
            s->at = rest.at + 1;
            skip_white(s);
            return true;
        }
    }
    return false;
}

bool mlflow_answer_text(const char *body, size_t length, const char *name, char *ret,
                        size_t capacity)
{
    struct scan s = scan_text(body, length);
    size_t n = 0;
    if (!find_member(&s, name) || s.at == s.end || *s.at++ != '"')
        return false;
    for (; s.at < s.end && *s.at != '"'; s.at++) {
        if (*s.at == '\\' && (++s.at == s.end || !strchr("\"\\/", *s.at)))
            return false;
        if (n + 1 >= capacity || (unsigned char)*s.at < 0x20)
            return false;
        ret[n++] = *s.at;
    }
    if (s.at == s.end || !n)
        return false;
    ret[n] = '\0';
    return true;
}

bool mlflow_answer_is(const char *body, size_t length, const char *error_code)
{
    char found[64];
    return mlflow_answer_text(body, length, "error_code", found, sizeof found) &&
           strcmp(found, error_code) == 0;
}
