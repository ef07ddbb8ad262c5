/* SPDX-License-Identifier: MIT */
#include "base/scan.h"

#include "base/util.h"

#include <float.h>
#include <string.h>

struct scan scan_string(const char *text)
{
    return scan_text(text, strlen(text));
}

void scan_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
        s->at++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool scan_u64(struct scan *s, uint64_t *ret)
{
    enum { SAFE_DIGITS = 19 }; /* so many always fit */
    struct scan t = *s;
    scan_blanks(&t);
    const char *first = t.at;
    const char *safe = t.end - first > SAFE_DIGITS ? first + SAFE_DIGITS : t.end;
    uint64_t value = 0;
    for (; t.at < safe && is_digit(*t.at); t.at++)
        value = value * 10 + (unsigned)(*t.at - '0');
    for (; t.at < t.end && is_digit(*t.at); t.at++) {
        unsigned digit = (unsigned)(*t.at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (t.at == first)
        return false;
    *s = t;
    *ret = value;
    return true;
}

bool scan_i64(struct scan *s, int64_t *ret)
{
    struct scan t = *s;
    scan_blanks(&t);
    bool negative = t.at < t.end && *t.at == '-';
    if (negative)
        t.at++;
    if (t.at == t.end || !is_digit(*t.at))
        return false;
    uint64_t magnitude;
    if (!scan_u64(&t, &magnitude) || magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *s = t;
    *ret = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool scan_hex(struct scan *s, uint64_t *ret)
{
    struct scan t = *s;
    scan_blanks(&t);
    const char *first = t.at;
    uint64_t value = 0;
    for (; t.at < t.end && hex_digit(*t.at) >= 0; t.at++) {
        if (value >> 60)
            return false;
        value = value << 4 | (unsigned)hex_digit(*t.at);
    }
    if (t.at == first)
        return false;
    *s = t;
    *ret = value;
    return true;
}

bool scan_decimal(struct scan *s, double *ret)
{
    struct scan t = *s;
    scan_blanks(&t);
    uint64_t whole = 0;
    bool has_whole = scan_u64(&t, &whole);
    double value = (double)whole;
    bool has_fraction = false;
    if (t.at < t.end && *t.at == '.') {
        double place = 0.1;
        for (t.at++; t.at < t.end && is_digit(*t.at); t.at++, place /= 10) {
            value += place * (*t.at - '0');
            has_fraction = true;
        }
    }
    if (!has_whole && !has_fraction)
        return false;
    *s = t;
    *ret = value;
    return true;
}

/* Digits with a point among them, as a whole number and how many places to move it to the left. The
 * nineteen digits that count are kept. */
static bool scan_digits(struct scan *s, uint64_t *ret_digits, int *ret_places)
{
    bool any = false, behind_point = false;
    *ret_digits = 0;
    *ret_places = 0;
    for (; s->at < s->end && (is_digit(*s->at) || (*s->at == '.' && !behind_point)); s->at++) {
        if (*s->at == '.') {
            behind_point = true;
            continue;
        }
        any = true;
        bool fits = *ret_digits < UINT64_C(1000000000000000000);
        if (fits)
            *ret_digits = *ret_digits * 10 + (unsigned)(*s->at - '0');
        *ret_places += (fits ? 1 : 0) * behind_point - (fits ? 0 : !behind_point);
    }
    return any;
}

static long double power_of_ten(unsigned exponent)
{
    long double power = 1, square = 10;
    for (; exponent; exponent >>= 1, square *= square)
        if (exponent & 1)
            power *= square;
    return power;
}

#ifdef __SIZEOF_INT128__ /* elsewhere the last digit of seventeen may be another */

/* The double that is nearest to digits / 10^places, for up to EXACT places: a long double between
 * would be rounded twice, and what a program wrote would not be what is read. All bits that matter
 * are in the quotient; what is left over only breaks ties. */
enum { EXACT = 19 };

static double nearest_quotient(uint64_t digits, unsigned places)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t divisor = 1;
    for (; places; places--)
        divisor *= 10;
    int shift = 63 + __builtin_clzll(digits);
    wide dividend = (wide)digits << shift;
    wide quotient = dividend / divisor;
    double nearest = (double)(quotient | (dividend % divisor != 0));
    for (; shift >= 32; shift -= 32) /* powers of two: nothing is rounded */
        nearest *= 0x1p-32;
    return nearest / (double)(UINT64_C(1) << shift);
}

#endif

bool scan_number(struct scan *s, double *ret)
{
    enum { FURTHEST = 400, FAR = 1000000 };
    struct scan t = *s;
    int64_t exponent = 0;
    uint64_t digits;
    int places;
    scan_blanks(&t);
    bool negative = t.at < t.end && *t.at == '-';
    t.at += negative || (t.at < t.end && *t.at == '+');
    if (!scan_digits(&t, &digits, &places))
        return false;
    struct scan power = t;
    if (scan_word(&power, "e") || scan_word(&power, "E")) {
        scan_word(&power, "+");
        if (power.at < power.end && *power.at != ' ' && scan_i64(&power, &exponent))
            t = power;
    }
    exponent = (exponent < -FAR ? -FAR : exponent > FAR ? FAR : exponent) - places;
    if (exponent > FURTHEST && digits)
        return false;
    if (exponent < -FURTHEST)
        digits = 0;
#ifdef __SIZEOF_INT128__
    if (digits && exponent <= 0 && exponent >= -EXACT) {
        double nearest = nearest_quotient(digits, (unsigned)-exponent);
        *s = t;
        *ret = negative ? -nearest : nearest;
        return true;
    }
#endif
    long double value = (long double)digits;
    if (digits && exponent > 0)
        value *= power_of_ten((unsigned)exponent);
    else if (digits)
        value /= power_of_ten((unsigned)-exponent);
    if (value > (long double)DBL_MAX)
        return false;
    *s = t;
    *ret = negative ? -(double)value : (double)value;
    return true;
}

bool scan_skip_fields(struct scan *s, unsigned n)
{
    struct scan t = *s;
    for (; n; n--) {
        scan_blanks(&t);
        if (t.at == t.end || *t.at == '\n')
            return false;
        while (t.at < t.end && *t.at != ' ' && *t.at != '\t' && *t.at != '\n')
            t.at++;
    }
    *s = t;
    return true;
}

bool scan_line(struct scan *s, struct scan *ret_line)
{
    if (s->at == s->end)
        return false;
    const char *newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
    const char *stop = newline ? newline : s->end;
    *ret_line = (struct scan){.at = s->at, .end = stop};
    s->at = newline ? newline + 1 : s->end;
    return true;
}

struct unit {
    const char *suffix; /* NULL behind the last */
    uint64_t size;
};

/* A number with one of the units right behind it. */
static int scan_measured(const char *text, const struct unit *units, uint64_t *ret)
{
    struct scan s = scan_string(text);
    double number;
    if (!scan_decimal(&s, &number))
        return -EINVAL;
    for (; units->suffix; units++) {
        if (strcmp(s.at, units->suffix) != 0)
            continue;
        double measured = number * (double)units->size;
        if (measured > 1e18)
            return -EINVAL;
        *ret = (uint64_t)(measured + 0.5);
        return 0;
    }
    return -EINVAL;
}

/* That many digits. */
static bool scan_fixed(struct scan *s, unsigned digits, uint64_t *ret)
{
    *ret = 0;
    for (; digits; digits--, s->at++) {
        if (s->at == s->end || !is_digit(*s->at))
            return false;
        *ret = *ret * 10 + (unsigned)(*s->at - '0');
    }
    return true;
}

/* Of a date of the Gregorian calendar, counted from 1970: years begin in March, so that the day
 * that some have more is the last. */
static uint64_t days_since_1970(uint64_t year, uint64_t month, uint64_t day)
{
    uint64_t since_march = (month + 9) % 12;
    uint64_t y = year - (month <= 2);
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * since_march + 2) / 5 + day - 1 - 719468;
}

bool scan_utc(struct scan *s, uint64_t *ret_real_ns)
{
    static const struct {
        unsigned digits;
        uint64_t least, most;
        char then;
    } fields[] = {{4, 1970, 2553, '-'}, {2, 1, 12, '-'}, {2, 1, 31, 'T'}, {2, 0, 23, ':'},
                  {2, 0, 59, ':'},      {2, 0, 60, '.'}, {3, 0, 999, 'Z'}};
    uint64_t f[ARRAY_LEN(fields)];
    struct scan t = *s;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++, t.at++)
        if (!scan_fixed(&t, fields[i].digits, &f[i]) || f[i] < fields[i].least ||
            f[i] > fields[i].most || t.at == t.end || *t.at != fields[i].then)
            return false;
    uint64_t seconds = days_since_1970(f[0], f[1], f[2]) * 86400 + f[3] * 3600 + f[4] * 60 + f[5];
    *s = t;
    *ret_real_ns = seconds * NS_PER_SECOND + f[6] * NS_PER_MS;
    return true;
}

int scan_duration(const char *text, uint64_t *ret_ns)
{
    static const struct unit units[] = {
        {"ns", 1},
        {"us", NS_PER_US},
        {"ms", NS_PER_MS},
        {"s", NS_PER_SECOND},
        {"m", 60 * NS_PER_SECOND},
        {"min", 60 * NS_PER_SECOND},
        {"h", 3600 * NS_PER_SECOND},
        {"d", 86400 * NS_PER_SECOND},
        {"", NS_PER_SECOND},
        {0},
    };
    return scan_measured(text, units, ret_ns);
}

int scan_size(const char *text, uint64_t *ret_bytes)
{
    static const struct unit units[] = {
        {"", 1},        {"B", 1},         {"kB", 1000},
        {"K", 1 << 10}, {"KiB", 1 << 10}, {"MB", 1000000},
        {"M", 1 << 20}, {"MiB", 1 << 20}, {"GB", 1000000000},
        {"G", 1 << 30}, {"GiB", 1 << 30}, {0},
    };
    return scan_measured(text, units, ret_bytes);
}
