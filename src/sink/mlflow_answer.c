/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_answer.h"

#include "base/json_in.h"

#include <string.h>

/* In the value that comes next. What is behind it is not looked at: a long answer may be cut. */
static bool find(struct json_in *j, const char *name, struct scan *ret)
{
    struct scan key;
    switch (json_in_next(j)) {
    case JSON_OBJECT:
        json_in_object(j);
        while (json_in_key(j, &key)) {
            if (json_in_is(&key, name) && json_in_next(j) == JSON_STRING)
                return json_in_string(j, ret);
            if (find(j, name, ret))
                return true;
        }
        return false;
    case JSON_ARRAY:
        json_in_array(j);
        while (json_in_item(j))
            if (find(j, name, ret))
                return true;
        return false;
    default: json_in_skip(j); return false;
    }
}

/* What becomes part of a URL: nothing but ASCII. */
static bool is_plain(struct scan text)
{
    for (const char *c = text.at; c < text.end; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7F)
            return false;
    return text.at < text.end;
}

bool mlflow_answer_text(const char *body, size_t length, const char *name, char *ret,
                        size_t capacity)
{
    struct json_in j = {0};
    struct scan text;
    json_in_begin(&j, body, length);
    bool found = find(&j, name, &text) && is_plain(text) && (size_t)(text.end - text.at) < capacity;
    if (found) {
        memcpy(ret, text.at, (size_t)(text.end - text.at));
        ret[text.end - text.at] = '\0';
    }
    json_in_done(&j);
    return found;
}

bool mlflow_answer_is(const char *body, size_t length, const char *error_code)
{
    char found[64];
    return mlflow_answer_text(body, length, "error_code", found, sizeof found) &&
           strcmp(found, error_code) == 0;
}
