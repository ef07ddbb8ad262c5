/* SPDX-License-Identifier: MIT */
#include "base/text/scan.h"

#include "base/memory.h"
#include "base/util.h"

#include <float.h>
#include <string.h>

/* ==== Csv record ============================================================================== */

void csv_record_done(struct csv_record *r)
{
    buf_done(&r->text);
    free(r->starts);
    *r = (struct csv_record){0};
}

static int begin_cell(struct csv_record *r)
{
    if (r->count == CSV_CELLS_AT_MOST)
        return -E2BIG;
    if (!ARRAY_RESERVE(r->starts, r->capacity, r->count + 1))
        return -ENOMEM;
    r->starts[r->count++] = r->text.length;
    return 0;
}

/* Behind the opening quote; two quotes are one. */
static int take_quoted(struct scan *s, struct buf *text)
{
    for (;;) {
        const char *quote = memchr(s->at, '"', (size_t)(s->end - s->at));
        if (!quote)
            return -EAGAIN;
        buf_add(text, s->at, (size_t)(quote - s->at));
        s->at = quote + 1;
        if (scan_done(s) || *s->at != '"')
            break;
        buf_putc(text, '"');
        s->at++;
    }
    return scan_done(s) || *s->at == ',' ? 0 : -EBADMSG;
}

static void csv_record_take_plain(struct scan *s, struct buf *text)
{
    const char *comma = memchr(s->at, ',', (size_t)(s->end - s->at));
    const char *end = comma ? comma : s->end;
    buf_add(text, s->at, (size_t)(end - s->at));
    s->at = end;
}

int parse_csv_record(struct scan line, struct csv_record *r)
{
    buf_clear(&r->text);
    r->count = 0;
    if (!scan_done(&line) && line.end[-1] == '\r')
        line.end--;
    if (memchr(line.at, '\0', (size_t)(line.end - line.at)))
        return -EBADMSG;
    for (;; line.at++) { /* past the comma */
        int result = begin_cell(r);
        if (result == 0 && !scan_done(&line) && *line.at == '"') {
            line.at++;
            result = take_quoted(&line, &r->text);
        } else if (result == 0) {
            csv_record_take_plain(&line, &r->text);
        }
        if (result < 0)
            return result;
        buf_putc(&r->text, '\0');
        if (scan_done(&line))
            return buf_failed(&r->text) ? -ENOMEM : 0;
    }
}

void csv_record_write(struct buf *b, const char *cell)
{
    bool quoted = strpbrk(cell, ",\"\r\n") != NULL;
    if (quoted)
        buf_putc(b, '"');
    for (const char *c = cell; *c; c++) {
        if (*c == '"')
            buf_putc(b, '"');
        buf_putc(b, *c);
    }
    if (quoted)
        buf_putc(b, '"');
}

static bool is_formula(const char *text)
{
    return *text && strchr("=+-@\t\r", *text);
}

void csv_record_write_name(struct buf *b, const char *name)
{
    if (!is_formula(name + strspn(name, "'"))) {
        csv_record_write(b, name);
        return;
    }
    struct buf marked = {0};
    buf_printf(&marked, "'%s", name);
    b->failed |= buf_failed(&marked);
    csv_record_write(b, marked.data ? marked.data : "");
    buf_done(&marked);
}

const char *csv_record_plain(const char *cell)
{
    return *cell == '\'' && is_formula(cell + strspn(cell, "'")) ? cell + 1 : cell;
}

/* ==== Scan ==================================================================================== */

struct scan scan_string(const char *text)
{
    return scan_text(text, strlen(text));
}

void scan_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
        s->at++;
}

static bool scan_is_digit(char c)
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
    for (; t.at < safe && scan_is_digit(*t.at); t.at++)
        value = value * 10 + (unsigned)(*t.at - '0');
    for (; t.at < t.end && scan_is_digit(*t.at); t.at++) {
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
    if (t.at == t.end || !scan_is_digit(*t.at))
        return false;
    uint64_t magnitude;
    if (!scan_u64(&t, &magnitude) || magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *s = t;
    *ret = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

static int scan_hex_digit(char c)
{
    if (scan_is_digit(c))
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
    for (; t.at < t.end && scan_hex_digit(*t.at) >= 0; t.at++) {
        if (value >> 60)
            return false;
        value = value << 4 | (unsigned)scan_hex_digit(*t.at);
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
        for (t.at++; t.at < t.end && scan_is_digit(*t.at); t.at++, place /= 10) {
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
    for (; s->at < s->end && (scan_is_digit(*s->at) || (*s->at == '.' && !behind_point)); s->at++) {
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

static long double scan_power_of_ten(unsigned exponent)
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
        value *= scan_power_of_ten((unsigned)exponent);
    else if (digits)
        value /= scan_power_of_ten((unsigned)-exponent);
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
        double instance = number * (double)units->size;
        if (instance > 1e18)
            return -EINVAL;
        *ret = (uint64_t)(instance + 0.5);
        return 0;
    }
    return -EINVAL;
}

/* That many digits. */
static bool scan_fixed(struct scan *s, unsigned digits, uint64_t *ret)
{
    *ret = 0;
    for (; digits; digits--, s->at++) {
        if (s->at == s->end || !scan_is_digit(*s->at))
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

/* ==== Shell words ============================================================================= */

static const char blanks[] = " \t\r\n";

/* One word from *at on, written to `to`, which has room for all of it. */
static int shell_words_take_word(const char **at, char **to, const char **ret_why)
{
    const char *c = *at;
    char *out = *to;
    char quote = '\0';
    for (; *c && (quote || !strchr(blanks, *c)); c++) {
        if (quote == '\'' && *c != '\'') {
            *out++ = *c;
        } else if (*c == quote) {
            quote = '\0';
        } else if (!quote && (*c == '\'' || *c == '"')) {
            quote = *c;
        } else if (*c == '\\') {
            if (!c[1]) {
                *ret_why = "No escaped character";
                return -EINVAL;
            }
            bool special = !quote || strchr("$`\"\\\n", c[1]);
            if (!special)
                *out++ = '\\';
            c++;
            if (*c != '\n') /* a line that goes on */
                *out++ = *c;
        } else {
            *out++ = *c;
        }
    }
    if (quote) {
        *ret_why = "No closing quotation";
        return -EINVAL;
    }
    *out++ = '\0';
    *at = c;
    *to = out;
    return 0;
}

int shell_words(const char *text, char ***ret, const char **ret_why)
{
    size_t length = strlen(text), most = length / 2 + 2; /* words, with the NULL behind them */
    char **words = malloc(most * sizeof *words + length + 1);
    if (!words)
        return -ENOMEM;
    char *to = (char *)(words + most);
    size_t count = 0;
    for (const char *at = text + strspn(text, blanks); *at; at += strspn(at, blanks)) {
        words[count] = to;
        if (shell_words_take_word(&at, &to, ret_why) < 0) {
            free(words);
            return -EINVAL;
        }
        count++;
    }
    words[count] = NULL;
    *ret = words;
    return 0;
}
