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

/* From after the opening quote; two quotes are one. */
static int csv_take_quoted(struct scan *s, struct buf *text)
{
    for (;;) {
        const char *quote = memchr(s->at, '"', scan_length(*s));
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

int parse_csv_record(struct scan line, struct csv_record *r)
{
    buf_clear(&r->text);
    r->count = 0;
    if (!scan_done(&line) && line.end[-1] == '\r')
        line.end--;
    if (memchr(line.at, '\0', scan_length(line)))
        return -EBADMSG;
    for (;; line.at++) { /* past the comma */
        if (r->count == CSV_CELLS_AT_MOST)
            return -E2BIG;
        if (!ARRAY_RESERVE(r->starts, r->capacity, r->count + 1))
            return -ENOMEM;
        r->starts[r->count++] = r->text.length;
        if (scan_word(&line, "\"")) {
            int result = csv_take_quoted(&line, &r->text);
            if (result < 0)
                return result;
        } else {
            const char *comma = memchr(line.at, ',', scan_length(line));
            const char *end = comma ? comma : line.end;
            buf_add(&r->text, line.at, (size_t)(end - line.at));
            line.at = end;
        }
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

static bool csv_is_formula(const char *text)
{
    return *text && strchr("=+-@\t\r", *text);
}

void csv_record_write_name(struct buf *b, const char *name)
{
    if (!csv_is_formula(name + strspn(name, "'"))) {
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
    return *cell == '\'' && csv_is_formula(cell + strspn(cell, "'")) ? cell + 1 : cell;
}

/* ==== Scan ==================================================================================== */

char *scan_copy(struct scan s)
{
    return strndup(s.at ? s.at : "", scan_length(s));
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
    enum { SAFE_DIGITS = 19 }; /* this many always fit */
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

int scan_hex_digit(char c)
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

/* ---- Decimals -------------------------------------------------------------------------------- */

/* An exponent beyond this is as good as any. */
enum { DECIMAL_FAR = 100000 };

/* Digits with at most one point among them. Those that do not fit count as zeros. */
static bool decimal_take_digits(struct scan *s, struct decimal *n)
{
    bool any = false, after_point = false;
    for (; s->at < s->end; s->at++) {
        uint64_t longer;
        if (*s->at == '.' && !after_point) {
            after_point = true;
            continue;
        }
        if (!scan_is_digit(*s->at))
            break;
        any = true;
        bool fits = !n->is_cut && !__builtin_mul_overflow(n->digits, UINT64_C(10), &longer) &&
                    !__builtin_add_overflow(longer, (uint64_t)(*s->at - '0'), &longer);
        if (fits)
            n->digits = longer;
        n->is_cut |= !fits;
        if (n->exponent > -DECIMAL_FAR && n->exponent < DECIMAL_FAR)
            n->exponent += !fits - after_point;
    }
    return any;
}

/* With an optional sign and exponent. An "e" without digits after it is not consumed. */
static bool decimal_take(struct scan *s, struct decimal *ret)
{
    struct decimal n = {.negative = s->at < s->end && *s->at == '-'};
    s->at += n.negative || (s->at < s->end && *s->at == '+');
    if (!decimal_take_digits(s, &n))
        return false;
    struct scan power = *s;
    if (scan_word(&power, "e") || scan_word(&power, "E")) {
        bool is_negative = scan_word(&power, "-");
        if (!is_negative)
            scan_word(&power, "+");
        int exponent = 0;
        for (; power.at < power.end && scan_is_digit(*power.at); s->at = ++power.at)
            if (exponent < DECIMAL_FAR)
                exponent = exponent * 10 + (*power.at - '0');
        n.exponent += is_negative ? -exponent : exponent;
    }
    *ret = n;
    return true;
}

bool decimal_take_json(struct scan *s, struct decimal *ret)
{
    const char *c = s->at + (s->at < s->end && *s->at == '-');
    if (c == s->end || !scan_is_digit(*c) || (*c == '0' && c + 1 < s->end && scan_is_digit(c[1])) ||
        !decimal_take(s, ret))
        return false;
    const char *point = memchr(c, '.', (size_t)(s->at - c));
    bool has_bare_point = point && (point + 1 == s->end || !scan_is_digit(point[1]));
    return !has_bare_point && (scan_done(s) || (*s->at != 'e' && *s->at != 'E'));
}

bool decimal_u64(const struct decimal *n, unsigned decimals, uint64_t *ret)
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

#ifdef __SIZEOF_INT128__ /* elsewhere the last digit of seventeen may be another */

/* The double that is nearest to digits / 10^places, for up to 19 places: a long double between
 * would be rounded twice, and what a program wrote would not be what is read. All bits that matter
 * are in the quotient; the remainder only breaks ties. */
enum { DECIMAL_PLACES = 19 };

static double decimal_quotient(uint64_t digits, unsigned places)
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

bool decimal_double(const struct decimal *n, double *ret)
{
    enum { FURTHEST = 400, EXACT_POWER = 22 };
    double value = 0;
    if (n->digits && n->exponent > FURTHEST)
        return false;
    if (n->digits && n->exponent >= -FURTHEST) {
        unsigned places = (unsigned)(n->exponent < 0 ? -n->exponent : n->exponent);
        long double power = 1, square = 10;
        for (unsigned left = places; left; left >>= 1, square *= square)
            if (left & 1)
                power *= square;
        if (n->exponent <= 0 && places <= EXACT_POWER && n->digits <= UINT64_C(1) << 53) {
            value = (double)n->digits / (double)power; /* both are exact: rounded once */
#ifdef __SIZEOF_INT128__
        } else if (n->exponent <= 0 && places <= DECIMAL_PLACES) {
            value = decimal_quotient(n->digits, places);
#endif
        } else {
            long double wide = (long double)n->digits;
            wide = n->exponent < 0 ? wide / power : wide * power;
            if (wide > (long double)DBL_MAX)
                return false;
            value = (double)wide;
        }
    }
    *ret = n->negative ? -value : value;
    return true;
}

bool scan_decimal(struct scan *s, double *ret)
{
    struct scan t = *s;
    struct decimal n = {0};
    scan_blanks(&t);
    bool has_digits = decimal_take_digits(&t, &n), is_too_large = n.is_cut && n.exponent > 0;
    if (!has_digits || is_too_large || !decimal_double(&n, ret))
        return false;
    *s = t;
    return true;
}

bool scan_number(struct scan *s, double *ret)
{
    struct scan t = *s;
    struct decimal n;
    scan_blanks(&t);
    if (!decimal_take(&t, &n) || !decimal_double(&n, ret))
        return false;
    *s = t;
    return true;
}

/* ---- Words, lines, times --------------------------------------------------------------------- */

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
    const char *newline = memchr(s->at, '\n', scan_length(*s));
    const char *stop = newline ? newline : s->end;
    *ret_line = (struct scan){.at = s->at, .end = stop};
    s->at = newline ? newline + 1 : s->end;
    return true;
}

struct scan_unit {
    const char *suffix; /* NULL after the last */
    uint64_t size;
};

/* A number and one of the units, with nothing between. */
static int scan_measured(const char *text, const struct scan_unit *units, uint64_t *ret)
{
    struct scan s = scan_string(text);
    double number;
    if (!scan_decimal(&s, &number))
        return -EINVAL;
    for (; units->suffix; units++) {
        if (strcmp(s.at, units->suffix) != 0)
            continue;
        double size = number * (double)units->size;
        if (size > 1e18)
            return -EINVAL;
        *ret = (uint64_t)(size + 0.5);
        return 0;
    }
    return -EINVAL;
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
    for (size_t i = 0; i < ARRAY_LEN(fields); i++, t.at++) {
        const char *end = t.at + fields[i].digits;
        if (scan_length(t) <= fields[i].digits || *end != fields[i].then)
            return false;
        for (f[i] = 0; t.at < end && scan_is_digit(*t.at); t.at++)
            f[i] = f[i] * 10 + (unsigned)(*t.at - '0');
        if (t.at < end || f[i] < fields[i].least || f[i] > fields[i].most)
            return false;
    }
    /* Days since 1970 in the Gregorian calendar: with years that begin in March, the day that leap
     * years have more is the last one. */
    uint64_t since_march = (f[1] + 9) % 12, year = f[0] - (f[1] <= 2);
    uint64_t days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * since_march + 2) / 5 +
                    f[2] - 1 - 719468;
    uint64_t seconds = days * 86400 + f[3] * 3600 + f[4] * 60 + f[5];
    *s = t;
    *ret_real_ns = seconds * NS_PER_SECOND + f[6] * NS_PER_MS;
    return true;
}

int scan_duration(const char *text, uint64_t *ret_ns)
{
    static const struct scan_unit units[] = {
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
    static const struct scan_unit units[] = {
        {"", 1},        {"B", 1},         {"kB", 1000},
        {"K", 1 << 10}, {"KiB", 1 << 10}, {"MB", 1000000},
        {"M", 1 << 20}, {"MiB", 1 << 20}, {"GB", 1000000000},
        {"G", 1 << 30}, {"GiB", 1 << 30}, {0},
    };
    return scan_measured(text, units, ret_bytes);
}

/* ==== Shell words ============================================================================= */

static const char shell_blanks[] = " \t\r\n";

/* One word from *at on, written to `to`, which has room for all of it. */
static int shell_words_take_word(const char **at, char **to, const char **ret_why)
{
    const char *c = *at;
    char *out = *to;
    char quote = '\0';
    for (; *c && (quote || !strchr(shell_blanks, *c)); c++) {
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
    size_t length = strlen(text), most = length / 2 + 2; /* words, with the NULL after them */
    char **words = malloc(most * sizeof *words + length + 1);
    if (!words)
        return -ENOMEM;
    char *to = (char *)(words + most);
    size_t count = 0;
    for (const char *at = text + strspn(text, shell_blanks); *at; at += strspn(at, shell_blanks)) {
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
