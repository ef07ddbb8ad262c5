/* SPDX-License-Identifier: MIT */
#include "summary/energy.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define JOULES_PER_KWH 3.6e6

/* ==== Prices ================================================================================== */

/* "2026-11-19T00:00Z", "2026-11-19T00:00:30.5Z" or "2026-11-19": always UTC. */
static bool carbon_scan_time(struct scan *s, uint64_t *ret_ns)
{
    struct scan word = *s;
    while (!scan_done(s) && !strchr(" \t,;", *s->at))
        s->at++;
    word.end = s->at;
    /* The rest of the form that is read: what is missing after so many characters. */
    static const struct {
        const char *form, *rest;
    } forms[] = {{"2026-11-19", "T00:00:00.000Z"},
                 {"2026-11-19T00:00Z", ":00.000Z"},
                 {"2026-11-19T00:00:00Z", ".000Z"},
                 {"2026-11-19T00:00:00.000Z", "Z"}};
    char whole[32] = "";
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        bool has_z = forms[i].rest[0] != 'T';
        if (scan_length(word) == strlen(forms[i].form) && (!has_z || word.end[-1] == 'Z'))
            snprintf(whole, sizeof whole, "%.*s%s", (int)scan_length(word) - has_z, word.at,
                     forms[i].rest);
    }
    struct scan text = scan_string(whole);
    return scan_utc(&text, ret_ns) && scan_done(&text);
}

int parse_carbon(struct scan text, struct carbon_step **ret, size_t *ret_count, unsigned *ret_line)
{
    struct carbon_step *steps = NULL;
    size_t count = 0;
    struct scan line;
    int r = 0;
    for (*ret_line = 1; r == 0 && scan_line(&text, &line); ++*ret_line) {
        struct carbon_step step;
        scan_blanks(&line);
        if (!scan_done(&line) && line.end[-1] == '\r')
            line.end--;
        if (scan_done(&line) || *line.at == '#')
            continue;
        bool has_time = carbon_scan_time(&line, &step.from_real_ns);
        scan_blanks(&line);
        if (scan_word(&line, ",") || scan_word(&line, ";"))
            scan_blanks(&line);
        bool is_right = has_time && scan_decimal(&line, &step.grams);
        scan_blanks(&line);
        if (!is_right || !scan_done(&line) ||
            (count && steps[count - 1].from_real_ns >= step.from_real_ns))
            r = -EINVAL;
        else if (!ARRAY_GROW(steps, count))
            r = -ENOMEM;
        else
            steps[count++] = step;
    }
    --*ret_line;
    if (r == 0 && !count)
        r = -EINVAL;
    if (r < 0) {
        free(steps);
        return r;
    }
    *ret = steps;
    *ret_count = count;
    return 0;
}

static int carbon_read(struct energy_prices *p, const char *path, struct toll_error *e)
{
    struct buf text = {0};
    unsigned line;
    int r = file_read_whole_at(AT_FDCWD, path, FILE_ANY_LINE, &text);
    if (r < 0) {
        buf_done(&text);
        return err_set(
            e, -EINVAL,
            "carbon: invalid value '%s': neither a number nor a file: %s (expected grams of "
            "CO2e per kWh, or a file of times and grams)",
            path, strerror(-r));
    }
    r = parse_carbon(scan_text(text.data ? text.data : "", text.length), &p->carbon,
                     &p->carbon_count, &line);
    buf_done(&text);
    return r == -EINVAL ? err_set(e, r,
                                  "carbon: '%s', line %u: malformed (expected a UTC "
                                  "time, later than the previous one, and grams of CO2e per kWh, "
                                  "such as 2026-11-19T00:00Z 312)",
                                  path, line)
                        : r;
}

/* "0.30", "0.30 EUR", "0.30EUR": a number and the word for the money. */
static int price_parse(const char *text, const char *name, double *ret,
                       char currency[CURRENCY_BYTES], struct toll_error *e)
{
    struct scan s = scan_string(text);
    bool is_number = scan_decimal(&s, ret);
    scan_blanks(&s);
    size_t length = scan_length(s);
    bool is_word = length < CURRENCY_BYTES;
    for (size_t i = 0; i < length && is_word; i++)
        is_word = !isdigit((unsigned char)s.at[i]) && (unsigned char)s.at[i] > ' ' &&
                  !strchr("+-.,\"'\\", s.at[i]);
    if (!is_number || !is_word)
        return err_set(e, -EINVAL,
                       "%s: invalid value '%s' (expected a number such as 0.30, or 0.30EUR)", name,
                       text);
    if (length && *currency && (strlen(currency) != length || memcmp(currency, s.at, length) != 0))
        return err_set(e, -EINVAL,
                       "price_hour: currency '%.*s' differs from '%s' of price (expected the same)",
                       (int)length, s.at, currency);
    if (length)
        snprintf(currency, CURRENCY_BYTES, "%.*s", (int)length, s.at);
    return 0;
}

int energy_prices_parse(struct energy_prices *ret, const struct toll_options *o,
                        struct toll_error *e)
{
    struct energy_prices p = {.pue = o->pue};
    int r = 0;
    if (!(o->pue == 0 || (o->pue >= 1 && o->pue <= 100)))
        r = err_set(e, -EINVAL,
                    "pue: invalid value %g (expected a number from 1 to 100, such as 1.2)", o->pue);
    if (r == 0 && o->price) {
        r = price_parse(o->price, "price", &p.per_kwh, p.currency, e);
        p.has_kwh = true;
    }
    if (r == 0 && o->price_hour) {
        r = price_parse(o->price_hour, "price_hour", &p.per_hour, p.currency, e);
        p.has_hour = true;
    }
    if (r == 0 && o->carbon) {
        struct scan s = scan_string(o->carbon);
        double grams;
        if (scan_decimal(&s, &grams) && scan_done(&s)) {
            p.carbon = calloc(1, sizeof *p.carbon);
            r = p.carbon ? 0 : -ENOMEM;
            if (p.carbon)
                p.carbon[p.carbon_count++].grams = grams;
        } else {
            r = carbon_read(&p, o->carbon, e);
        }
    }
    if (r < 0)
        energy_prices_done(&p);
    else
        *ret = p;
    return r;
}

void energy_prices_done(struct energy_prices *p)
{
    free(p->carbon);
    *p = (struct energy_prices){0};
}

double carbon_at(const struct energy_prices *p, uint64_t real_ns)
{
    double grams = (double)NAN;
    for (size_t i = 0; i < p->carbon_count && p->carbon[i].from_real_ns <= real_ns; i++)
        grams = p->carbon[i].grams;
    return grams;
}

/* ==== Job ===================================================================================== */

static struct energy_interval interval_scaled(struct energy_interval i, double factor)
{
    i.low *= factor;
    i.high *= factor;
    return i;
}

void job_energy_price(struct job_energy *j, const struct energy_prices *p, uint64_t elapsed_ns)
{
    double pue = p->pue > 0 ? p->pue : 1;
    double hours = p->has_hour ? p->per_hour * (double)elapsed_ns / 3.6e12 : 0;
    j->pue = p->pue;
    j->has_carbon = p->carbon_count > 0;
    j->has_price = p->has_kwh || p->has_hour;
    memcpy(j->currency, p->currency, sizeof j->currency);
    j->kwh = interval_scaled(j->joules, pue / JOULES_PER_KWH);
    j->grams = j->has_carbon ? interval_scaled(j->grams, pue) : (struct energy_interval){0};
    j->cost = p->has_kwh    ? interval_scaled(j->kwh, p->per_kwh)
              : p->has_hour ? (struct energy_interval){.has_low = true, .has_high = true}
                            : (struct energy_interval){0};
    if (j->cost.has_low || p->has_hour) {
        /* The hours alone are certain, and less than all of it. */
        j->cost.low += hours;
        j->cost.high += hours;
        j->cost.has_low = true;
    }
}
