/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <string.h>

size_t utf8_decode(const unsigned char *text, size_t left, uint32_t *ret_point)
{
    static const struct {
        unsigned char mask, lead, length;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 1, 0},
                 {0xE0, 0xC0, 2, 0x80},
                 {0xF0, 0xE0, 3, 0x800},
                 {0xF8, 0xF0, 4, 0x10000}};

    for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
        if (left < forms[f].length || (text[0] & forms[f].mask) != forms[f].lead)
            continue;
        uint32_t point = text[0] & (unsigned char)~forms[f].mask;
        for (size_t i = 1; i < forms[f].length; i++) {
            if ((text[i] & 0xC0) != 0x80)
                return 0;
            point = point << 6 | (text[i] & 0x3F);
        }
        bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
        if (point < forms[f].least || point > 0x10FFFF || is_surrogate)
            return 0;
        *ret_point = point;
        return forms[f].length;
    }
    return 0;
}

size_t utf8_length(const unsigned char *text, size_t left)
{
    uint32_t point;
    size_t length = utf8_decode(text, left, &point);
    return length > 1 ? length : 0;
}

bool utf8_is_text(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    while (at < end) {
        uint32_t point;
        size_t taken = utf8_decode(at, (size_t)(end - at), &point);
        if (!taken || point < 0x20 || (point >= 0x7F && point < 0xA0))
            return false;
        at += taken;
    }
    return true;
}

struct range {
    uint32_t first, last;
};

static bool is_in(uint32_t point, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

bool utf8_is_control(uint32_t point)
{
    static const struct range controls[] = {
        {0x00, 0x1F},     {0x7F, 0x9F},     /* control characters */
        {0x061C, 0x061C}, {0x200E, 0x200F}, /* marks of writing direction … */
        {0x202A, 0x202E}, {0x2066, 0x2069}, /* … embeddings, overrides, isolates */
        {0x2028, 0x2029}, {0x206A, 0x206F}, {0xFFF9, 0xFFFB}, /* separators, shaping, annotations */
    };
    return is_in(point, controls, ARRAY_LEN(controls));
}

/* As terminals agree upon: letters of East Asia and emoji are two columns wide, accents that are
 * put on the letter before them none. Independent of the locale, which is the host program's. */
static size_t columns_of(uint32_t point)
{
    static const struct range none[] = {
        {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
        {0x06D6, 0x06DC}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF},
        {0x200B, 0x200D}, {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0x302A, 0x302D},   {0x3099, 0x309A},
        {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE0FFF},
    };
    static const struct range two[] = {
        {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2E80, 0x3029},   {0x302E, 0x303E},
        {0x3041, 0x3098},   {0x309B, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
        {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
        {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
        {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
    };
    if (point < 0x0300)
        return 1;
    return is_in(point, none, ARRAY_LEN(none)) ? 0 : is_in(point, two, ARRAY_LEN(two)) ? 2 : 1;
}

size_t utf8_fitting(const char *text, size_t length, size_t columns)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    while (at < end) {
        uint32_t point = 0;
        size_t taken = utf8_decode(at, (size_t)(end - at), &point);
        size_t wide = taken ? columns_of(point) : 1;
        if (wide > columns)
            break;
        columns -= wide;
        at += taken ? taken : 1;
    }
    return (size_t)(at - (const unsigned char *)text);
}

size_t utf8_columns(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    size_t columns = 0;
    while (at < end) {
        uint32_t point = 0;
        size_t taken = utf8_decode(at, (size_t)(end - at), &point);
        columns += taken ? columns_of(point) : 1;
        at += taken ? taken : 1;
    }
    return columns;
}

/* Length of the next character, or 1 for an invalid byte; and what is shown in its place, 0 when it
 * may be shown as it is. */
static size_t next_character(const char *at, size_t left, char *ret_instead)
{
    uint32_t point;
    size_t taken = utf8_decode((const unsigned char *)at, left, &point);
    if (taken == 1 && *at >= '\t' && *at <= '\r')
        *ret_instead = ' ';
    else
        *ret_instead = taken && !utf8_is_control(point) ? 0 : '?';
    return taken ? taken : 1;
}

void text_make_printable(char *text)
{
    const char *from = text, *end = text + strlen(text);
    char *to = text;
    while (from < end) {
        char instead;
        size_t taken = next_character(from, (size_t)(end - from), &instead);
        if (instead) {
            *to++ = instead;
        } else {
            memmove(to, from, taken);
            to += taken;
        }
        from += taken;
    }
    *to = '\0';
}

void buf_printable(struct buf *b, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        char instead;
        size_t taken = next_character(text + at, length - at, &instead);
        buf_add(b, instead ? &instead : text + at, instead ? 1 : taken);
        at += taken;
    }
}
