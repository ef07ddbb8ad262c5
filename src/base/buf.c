/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void buf_done(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
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

static bool grow(struct buf *b, size_t more)
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
static inline bool reserve(struct buf *b, size_t more)
{
    return !b->failed && (b->capacity - b->length > more || grow(b, more));
}

char *buf_room(struct buf *b, size_t least, size_t *ret_room)
{
    if (!reserve(b, least))
        return NULL;
    *ret_room = b->capacity - b->length - 1;
    return b->data + b->length;
}

void buf_add(struct buf *b, const char *text, size_t length)
{
    if (!reserve(b, length))
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
    if (!reserve(b, 1))
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
    if (length >= 0 && reserve(b, (size_t)length)) {
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

static uint64_t power_of_ten(unsigned exponent)
{
    uint64_t power = 1;
    while (exponent--)
        power *= 10;
    return power;
}

void buf_fixed(struct buf *b, uint64_t value, unsigned decimals)
{
    uint64_t scale = power_of_ten(decimals);
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

static void cut_zeros(struct buf *b)
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
    cut_zeros(b);
}

/* Beyond this a double has no further digits: what is read again of the text is written the same.
 */
#define DIGITS_OF_DOUBLE 2.25e15

/* The digits of value with that many decimals, or with fewer when it has not so many; false when
 * they do not fit. */
static bool round_digits(double value, unsigned *decimals, uint64_t *ret)
{
    double scaled = fabs(value) * (double)power_of_ten(*decimals) + 0.5;
    for (; *decimals && isfinite(value) && scaled >= DIGITS_OF_DOUBLE; --*decimals)
        scaled = fabs(value) * (double)power_of_ten(*decimals - 1) + 0.5;
    if (!isfinite(value) || scaled >= 1.8e19)
        return false;
    *ret = (uint64_t)scaled;
    return true;
}

void buf_double_fixed(struct buf *b, double value, unsigned decimals)
{
    uint64_t digits;
    unsigned known = decimals;
    if (!round_digits(value, &known, &digits)) {
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
    if (!round_digits(value, &decimals, &digits))
        return value;
    double again = (double)digits / (double)power_of_ten(decimals);
    return value < 0 ? -again : again;
}

void buf_double(struct buf *b, double value, unsigned decimals)
{
    size_t start = b->length;
    buf_double_fixed(b, value, decimals);
    if (!b->failed && memchr(b->data + start, '.', b->length - start))
        cut_zeros(b);
}

/* The decimal point of the host program's locale may be any text. */
static void add_point(struct buf *b, const char *digits)
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
        add_point(b, text);
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

static unsigned columns_since(const struct buf *b, size_t start)
{
    return b->length > start ? (unsigned)utf8_columns(b->data + start, b->length - start) : 0;
}

void buf_pad(struct buf *b, size_t start, unsigned width)
{
    for (unsigned have = columns_since(b, start); have < width; have++)
        buf_putc(b, ' ');
}

void buf_pad_left(struct buf *b, size_t start, unsigned width)
{
    unsigned have = columns_since(b, start);
    if (have >= width)
        return;
    size_t spaces = width - have;
    if (!reserve(b, spaces))
        return;
    memmove(b->data + start + spaces, b->data + start, b->length - start);
    memset(b->data + start, ' ', spaces);
    b->length += spaces;
    b->data[b->length] = '\0';
}
