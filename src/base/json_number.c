/* SPDX-License-Identifier: MIT */
#include "base/json_number.h"

#include <float.h>

/* An exponent beyond this is as good as any. */
enum { FAR = 100000 };

static bool is_digit(const struct scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

/* Digits behind those that fit are zeros as far as anybody can tell. */
static void take_digits(struct scan *s, struct json_number *n, int place)
{
    for (; is_digit(s); s->at++) {
        unsigned digit = (unsigned)(*s->at - '0');
        bool fits = !n->is_cut && (n->digits < UINT64_MAX / 10 ||
                                   (n->digits == UINT64_MAX / 10 && digit <= UINT64_MAX % 10));
        if (fits)
            n->digits = n->digits * 10 + digit;
        n->is_cut |= !fits;
        if (n->exponent > -FAR && n->exponent < FAR)
            n->exponent += (fits ? 0 : 1) + place;
    }
}

static bool take_exponent(struct scan *s, struct json_number *n)
{
    bool negative = *s->at == '-';
    s->at += negative || *s->at == '+';
    if (!is_digit(s))
        return false;
    int exponent = 0;
    for (; is_digit(s); s->at++)
        if (exponent < FAR)
            exponent = exponent * 10 + (*s->at - '0');
    n->exponent += negative ? -exponent : exponent;
    return true;
}

bool json_number_take(struct scan *s, struct json_number *ret)
{
    struct json_number n = {0};
    n.negative = s->at < s->end && *s->at == '-';
    s->at += n.negative;
    if (!is_digit(s))
        return false;
    const char *first = s->at;
    take_digits(s, &n, 0);
    if (*first == '0' && s->at - first > 1)
        return false;
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!is_digit(s))
            return false;
        take_digits(s, &n, -1);
    }
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        s->at++;
        if (s->at == s->end || !take_exponent(s, &n))
            return false;
    }
    *ret = n;
    return true;
}

bool json_number_u64(const struct json_number *n, unsigned decimals, uint64_t *ret)
{
    uint64_t value = n->digits;
    int shift = n->exponent + (int)decimals;
    if ((n->negative && value) || (n->is_cut && shift > 0))
        return false;
    for (; shift > 0 && value; shift--)
        if (__builtin_mul_overflow(value, UINT64_C(10), &value))
            return false;
    for (; shift < -1 && value; shift++)
        value /= 10;
    *ret = shift < 0 ? value / 10 + (value % 10 >= 5) : value;
    return true;
}

bool json_number_double(const struct json_number *n, double *ret)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { EXACT = 22, FURTHEST = 400 };
    double value = (double)n->digits;
    if (n->digits <= UINT64_C(1) << 53 && n->exponent <= 0 && n->exponent >= -EXACT) {
        value /= powers[-n->exponent]; /* both are exact, so this is rounded once */
    } else if (n->digits) {
        long double wide = (long double)n->digits, power = 1, square = 10;
        if (n->exponent > FURTHEST)
            return false;
        int far = n->exponent < -FURTHEST ? FURTHEST : n->exponent < 0 ? -n->exponent : n->exponent;
        for (unsigned left = (unsigned)far; left; left >>= 1, square *= square)
            if (left & 1)
                power *= square;
        wide = n->exponent < 0 ? wide / power : wide * power;
        if (wide > (long double)DBL_MAX)
            return false;
        value = (double)wide;
    }
    *ret = n->negative ? -value : value;
    return true;
}
