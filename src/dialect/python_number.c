/* SPDX-License-Identifier: MIT */
#include "dialect/python_number.h"

#include "base/scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The locale of the host program decides on the point, here and in what reads it again. */
enum { NEARLY_ALL = 15, ALL = 17, TEXT_BYTES = 40 };

/* "e-05", "e+17", or the end. */
static int exponent_of(const char *text)
{
    int64_t exponent = 0;
    struct scan s = scan_string(*text ? text + 1 : text);
    if (!scan_done(&s) && *s.at == '+')
        s.at++;
    scan_i64(&s, &exponent);
    return (int)exponent;
}

/* The fewest digits that give it again, without point and sign; the place of the point behind the
 * first digit moves by *ret_exponent. */
static size_t shortest(double value, char digits[TEXT_BYTES], int *ret_exponent)
{
    char text[TEXT_BYTES];
    for (int precision = NEARLY_ALL - 1; precision < ALL; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    size_t n = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            digits[n++] = *at;
    *ret_exponent = exponent_of(at);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

static void put_plain(struct buf *b, const char *digits, size_t n, int exponent)
{
    if (exponent < 0) {
        buf_puts(b, "0.");
        for (int i = exponent + 1; i < 0; i++)
            buf_putc(b, '0');
        buf_add(b, digits, n);
        return;
    }
    for (size_t i = 0; i < n || i <= (size_t)exponent; i++) {
        buf_putc(b, i < n ? digits[i] : '0');
        if (i == (size_t)exponent)
            buf_putc(b, '.');
    }
    if (n <= (size_t)exponent + 1)
        buf_putc(b, '0');
}

void python_float(struct buf *b, double value)
{
    char digits[TEXT_BYTES];
    int exponent;
    if (!isfinite(value)) {
        buf_puts(b, "null");
        return;
    }
    if (signbit(value))
        buf_putc(b, '-');
    size_t n = shortest(fabs(value), digits, &exponent);
    if (exponent >= -4 && exponent < 16) {
        put_plain(b, digits, n, exponent);
        return;
    }
    buf_putc(b, digits[0]);
    if (n > 1) {
        buf_putc(b, '.');
        buf_add(b, digits + 1, n - 1);
    }
    buf_printf(b, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

double python_round(double value, unsigned decimals)
{
    char text[400];
    int n = snprintf(text, sizeof text, "%.*f", (int)decimals, value);
    return n > 0 && (size_t)n < sizeof text ? strtod(text, NULL) : value;
}

void python_integer(struct buf *b, double value)
{
    if (!isfinite(value) || fabs(value) >= 0x1p63) {
        buf_puts(b, "null");
        return;
    }
    uint64_t whole = (uint64_t)(fabs(value) + 0.5);
    if (value < 0 && whole)
        buf_putc(b, '-');
    buf_u64(b, whole);
}
