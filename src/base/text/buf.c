/* SPDX-License-Identifier: MIT */
#include "base/text/buf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ==== Utf8 ==================================================================================== */

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

struct utf8_range {
    uint32_t first, last;
};

static bool utf8_is_in(uint32_t point, const struct utf8_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

bool utf8_is_control(uint32_t point)
{
    static const struct utf8_range controls[] = {
        {0x00, 0x1F},     {0x7F, 0x9F},                       /* control characters */
        {0x061C, 0x061C}, {0x200E, 0x200F},                   /* marks of writing direction */
        {0x202A, 0x202E}, {0x2066, 0x2069},                   /* embeddings, overrides, isolates */
        {0x2028, 0x2029}, {0x206A, 0x206F}, {0xFFF9, 0xFFFB}, /* separators, shaping, annotations */
    };
    return utf8_is_in(point, controls, ARRAY_LEN(controls));
}

/* As terminals agree upon: letters of East Asia and emoji are two columns wide, accents that are
 * put on the letter before them none. Independent of the locale, which is the host program's. */
static size_t utf8_columns_of(uint32_t point)
{
    static const struct utf8_range none[] = {
        {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
        {0x06D6, 0x06DC}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF},
        {0x200B, 0x200D}, {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0x302A, 0x302D},   {0x3099, 0x309A},
        {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE0FFF},
    };
    static const struct utf8_range two[] = {
        {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2E80, 0x3029},   {0x302E, 0x303E},
        {0x3041, 0x3098},   {0x309B, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
        {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
        {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
        {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
    };
    if (point < 0x0300)
        return 1;
    return utf8_is_in(point, none, ARRAY_LEN(none)) ? 0
           : utf8_is_in(point, two, ARRAY_LEN(two)) ? 2
                                                    : 1;
}

size_t utf8_fitting(const char *text, size_t length, size_t columns)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    while (at < end) {
        uint32_t point = 0;
        size_t taken = utf8_decode(at, (size_t)(end - at), &point);
        size_t wide = taken ? utf8_columns_of(point) : 1;
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
        columns += taken ? utf8_columns_of(point) : 1;
        at += taken ? taken : 1;
    }
    return columns;
}

/* Length of the next character, or 1 for an invalid byte; and what is shown in its place, 0 when it
 * may be shown as it is. */
static size_t utf8_next_shown(const char *at, size_t left, char *ret_instead)
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
        size_t taken = utf8_next_shown(from, (size_t)(end - from), &instead);
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
        size_t taken = utf8_next_shown(text + at, length - at, &instead);
        buf_add(b, instead ? &instead : text + at, instead ? 1 : taken);
        at += taken;
    }
}

void buf_utf8(struct buf *b, const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + length;
    while (at < end) {
        size_t valid = 0;
        while (at + valid < end && at[valid] < 0x80)
            valid++;
        if (!valid)
            valid = utf8_length(at, (size_t)(end - at));
        if (valid)
            buf_add(b, (const char *)at, valid);
        else
            buf_add(b, (const char[]){(char)(0xC0 | *at >> 6), (char)(0x80 | (*at & 0x3F))}, 2);
        at += valid ? valid : 1;
    }
}

/* ==== Buf ===================================================================================== */

void buf_done(struct buf *b)
{
    free(b->data);
    *b = buf_like(b);
}

void buf_clear(struct buf *b)
{
    b->length = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = '\0';
}

bool buf_failed(const struct buf *b)
{
    return b->failed;
}

char *buf_take(struct buf *b)
{
    buf_puts(b, ""); /* there may be no memory yet */
    char *text = b->failed ? NULL : b->data;
    if (text)
        *b = buf_like(b);
    else
        buf_done(b);
    return text;
}

static bool buf_grow(struct buf *b, size_t more)
{
    size_t wanted = b->capacity ? b->capacity : 256;
    while (wanted - b->length <= more)
        wanted *= 2;
    char *data = realloc(b->data, wanted);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = wanted;
    return true;
}

/* Room for `more` bytes and a terminating zero. */
static inline bool buf_reserve(struct buf *b, size_t more)
{
    return !b->failed && (b->capacity - b->length > more || buf_grow(b, more));
}

size_t buf_copy_out(const struct buf *b, char *place, size_t size)
{
    size_t length = buf_failed(b) ? 0 : b->length;
    if (place && size) {
        size_t kept = length < size ? length : size - 1;
        if (kept)
            memcpy(place, b->data, kept);
        place[kept] = '\0';
    }
    return length;
}

char *buf_room(struct buf *b, size_t least, size_t *ret_room)
{
    if (!buf_reserve(b, least))
        return NULL;
    *ret_room = b->capacity - b->length - 1;
    return b->data + b->length;
}

void buf_add(struct buf *b, const char *text, size_t length)
{
    if (!buf_reserve(b, length))
        return;
    if (length) /* nothing may be nowhere */
        memcpy(b->data + b->length, text, length);
    b->length += length;
    b->data[b->length] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
    if (!buf_reserve(b, 1))
        return;
    b->data[b->length++] = c;
    b->data[b->length] = '\0';
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && buf_reserve(b, (size_t)length)) {
        vsnprintf(b->data + b->length, (size_t)length + 1, format, again);
        b->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

/* Writes the digits of value in front of `end` and returns where they begin. */
static char *digits_before(char *end, uint64_t value)
{
    do
        *--end = (char)('0' + value % 10);
    while (value /= 10);
    return end;
}

void buf_u64(struct buf *b, uint64_t value)
{
    char digits[20];
    char *end = digits + sizeof digits;
    char *first = digits_before(end, value);
    buf_add(b, first, (size_t)(end - first));
}

static uint64_t buf_power_of_ten(unsigned exponent)
{
    uint64_t power = 1;
    while (exponent--)
        power *= 10;
    return power;
}

void buf_fixed(struct buf *b, uint64_t value, unsigned decimals)
{
    uint64_t scale = buf_power_of_ten(decimals);
    buf_u64(b, value / scale);
    if (!decimals)
        return;
    char digits[20];
    char *end = digits + sizeof digits;
    char *first = digits_before(end, value % scale);
    while (end - first < (ptrdiff_t)decimals)
        *--first = '0';
    buf_putc(b, '.');
    buf_add(b, first, (size_t)(end - first));
}

static void buf_cut_zeros(struct buf *b)
{
    if (b->failed)
        return;
    while (b->data[b->length - 1] == '0')
        b->length--;
    if (b->data[b->length - 1] == '.')
        b->length--;
    b->data[b->length] = '\0';
}

void buf_seconds(struct buf *b, uint64_t ns)
{
    buf_fixed(b, ns, 9);
    buf_cut_zeros(b);
}

/* Beyond this a double has no further digits: what is read again of the text is written the same.
 */
#define DIGITS_OF_DOUBLE 2.25e15

/* The digits of value with that many decimals, or with fewer when it has not so many; false when
 * they do not fit. */
static bool buf_round(double value, unsigned *decimals, uint64_t *ret)
{
    double scaled = fabs(value) * (double)buf_power_of_ten(*decimals) + 0.5;
    for (; *decimals && isfinite(value) && scaled >= DIGITS_OF_DOUBLE; --*decimals)
        scaled = fabs(value) * (double)buf_power_of_ten(*decimals - 1) + 0.5;
    if (!isfinite(value) || scaled >= 1.8e19)
        return false;
    *ret = (uint64_t)scaled;
    return true;
}

void buf_double_fixed(struct buf *b, double value, unsigned decimals)
{
    uint64_t digits;
    unsigned known = decimals;
    if (!buf_round(value, &known, &digits)) {
        buf_puts(b, "null");
        return;
    }
    if (value < 0 && digits)
        buf_putc(b, '-');
    buf_fixed(b, digits, known);
    if (!known && decimals)
        buf_putc(b, '.');
    for (; known < decimals; known++)
        buf_putc(b, '0');
}

double buf_double_again(double value, unsigned decimals)
{
    uint64_t digits;
    if (!buf_round(value, &decimals, &digits))
        return value;
    double again = (double)digits / (double)buf_power_of_ten(decimals);
    return value < 0 ? -again : again;
}

void buf_double(struct buf *b, double value, unsigned decimals)
{
    size_t start = b->length;
    buf_double_fixed(b, value, decimals);
    if (!b->failed && memchr(b->data + start, '.', b->length - start))
        buf_cut_zeros(b);
}

/* The decimal point of the host program's locale may be any text. */
static void buf_add_point(struct buf *b, const char *digits)
{
    static const char plain[] = "0123456789+-e";
    while (*digits) {
        size_t same = strspn(digits, plain), foreign = strcspn(digits + same, plain);
        buf_add(b, digits, same);
        if (foreign)
            buf_putc(b, '.');
        digits += same + foreign;
    }
}

void buf_number_short(struct buf *b, double value, unsigned digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*g", (int)digits, value);
    if (isfinite(value))
        buf_add_point(b, text);
    else
        buf_puts(b, "null");
}

void buf_number(struct buf *b, double value)
{
    enum { NEARLY_ALL = 15, ALL = 17 };
    unsigned digits = NEARLY_ALL;
    for (char text[64]; digits < ALL; digits++) {
        snprintf(text, sizeof text, "%.*g", (int)digits, value);
        if (strtod(text, NULL) == value) /* both follow the same locale */
            break;
    }
    buf_number_short(b, value, digits);
}

/* As many decimals as make three digits. */
static void buf_three_digits(struct buf *b, double value)
{
    buf_double_fixed(b, value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/* The nearest whole number; what no uint64_t can hold is the nearest that one can, and NaN is 0. */
static uint64_t whole_of(double value)
{
    double rounded = value + 0.5;
    return rounded >= 18446744073709551616.0 ? UINT64_MAX : rounded >= 0 ? (uint64_t)rounded : 0;
}

void buf_bytes(struct buf *b, double bytes)
{
    static const char *const binary[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
    static const char *const decimal[] = {" B", " kB", " MB", " GB", " TB", " PB"};
    const char *const *units = b->units == BYTES_DECIMAL ? decimal : binary;
    double step = b->units == BYTES_DECIMAL ? 1000 : 1024;
    unsigned unit = 0;
    while (bytes >= step - 0.5 && unit + 1 < ARRAY_LEN(binary) && b->units != BYTES_PLAIN) {
        bytes /= step;
        unit++;
    }
    if (unit == 0)
        buf_u64(b, whole_of(bytes));
    else
        buf_three_digits(b, bytes);
    buf_puts(b, units[unit]);
}

void buf_duration(struct buf *b, double seconds)
{
    if (seconds >= 86399.5) {
        uint64_t hours = whole_of(seconds / 3600);
        buf_printf(b, "%llud %02lluh", (unsigned long long)(hours / 24),
                   (unsigned long long)(hours % 24));
    } else if (seconds >= 3599.5) {
        uint64_t minutes = whole_of(seconds / 60);
        buf_printf(b, "%lluh %02llum", (unsigned long long)(minutes / 60),
                   (unsigned long long)(minutes % 60));
    } else if (seconds >= 59.95) {
        uint64_t whole = whole_of(seconds);
        buf_printf(b, "%llum %02llus", (unsigned long long)(whole / 60),
                   (unsigned long long)(whole % 60));
    } else if (seconds >= 0.9995) {
        buf_three_digits(b, seconds);
        buf_puts(b, " s");
    } else if (seconds >= 0.0009995) {
        buf_three_digits(b, seconds * 1e3);
        buf_puts(b, " ms");
    } else if (seconds > 0) {
        buf_three_digits(b, seconds * 1e6);
        buf_puts(b, " µs");
    } else {
        buf_puts(b, "0 s");
    }
}

void buf_utc(struct buf *b, uint64_t real_ns)
{
    time_t seconds = (time_t)(real_ns / NS_PER_SECOND);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm)) {
        buf_puts(b, "1970-01-01T00:00:00.000Z");
        return;
    }
    buf_printf(b, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", tm.tm_year + 1900, tm.tm_mon + 1,
               tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
               (unsigned)(real_ns % NS_PER_SECOND / NS_PER_MS));
}

static unsigned buf_columns_since(const struct buf *b, size_t start)
{
    return b->length > start ? (unsigned)utf8_columns(b->data + start, b->length - start) : 0;
}

void buf_pad(struct buf *b, size_t start, unsigned width)
{
    for (unsigned have = buf_columns_since(b, start); have < width; have++)
        buf_putc(b, ' ');
}

void buf_pad_left(struct buf *b, size_t start, unsigned width)
{
    unsigned have = buf_columns_since(b, start);
    if (have >= width)
        return;
    size_t spaces = width - have;
    if (!buf_reserve(b, spaces))
        return;
    memmove(b->data + start + spaces, b->data + start, b->length - start);
    memset(b->data + start, ' ', spaces);
    b->length += spaces;
    b->data[b->length] = '\0';
}
