/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "base/util.h"

size_t utf8_length(const unsigned char *text, size_t left)
{
    static const struct {
        unsigned char mask, lead, length;
        unsigned least;
    } forms[] = {{0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};

    for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
        if ((text[0] & forms[f].mask) != forms[f].lead || left < forms[f].length)
            continue;
        unsigned point = text[0] & (unsigned char)~forms[f].mask;
        for (size_t i = 1; i < forms[f].length; i++) {
            if ((text[i] & 0xC0) != 0x80)
                return 0;
            point = point << 6 | (text[i] & 0x3F);
        }
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        return point < forms[f].least || point > 0x10FFFF || surrogate ? 0 : forms[f].length;
    }
    return 0;
}

bool utf8_is_text(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    while (at < end) {
        size_t taken = *at < 0x80 ? 1 : utf8_length(at, (size_t)(end - at));
        bool second_set = taken == 2 && at[0] == 0xC2 && at[1] < 0xA0; /* U+0080 to U+009F */
        if (!taken || *at < 0x20 || *at == 0x7F || second_set)
            return false;
        at += taken;
    }
    return true;
}

void text_make_printable(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
}
