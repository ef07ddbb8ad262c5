/* SPDX-License-Identifier: MIT
 * What the energy of a job comes to: kilowatt-hours, CO2e and money, each between two ends. */
#pragma once

#include "base/text/scan.h"
#include "metric/metric.h"
#include "toll.h"

/* ==== Prices ================================================================================== */

enum { CURRENCY_BYTES = 12 };

/* Grams of CO2e for a kilowatt-hour from a moment on. */
struct carbon_step {
    uint64_t from_real_ns; /* 0: always */
    double grams;
};

/* What was asked for, as options of the tracker. */
struct energy_prices {
    double pue; /* energy of the building for that of the machine; 0: not given */
    bool has_kwh, has_hour;
    double per_kwh, per_hour;
    char currency[CURRENCY_BYTES]; /* "" when no word was given */
    struct carbon_step *carbon;    /* owned, by rising time; NULL: not given */
    size_t carbon_count;
};

/* 0, or -EINVAL and a sentence. A text of carbon that is no number is the name of a file. */
int energy_prices_parse(struct energy_prices *ret, const struct toll_options *o,
                        struct toll_error *e);
void energy_prices_done(struct energy_prices *p);

/* The text of a file: lines of a time and grams, "2026-11-19T00:00Z 312". 0, -ENOMEM, or -EINVAL
 * and the number of the line. */
int parse_carbon(struct scan text, struct carbon_step **ret, size_t *ret_count, unsigned *ret_line);

/* Grams for a kilowatt-hour at that time; NAN before the first step. */
double carbon_at(const struct energy_prices *p, uint64_t real_ns);

/* ==== Job ===================================================================================== */

/* The truth lies between the two. Without a high end the low one is a lower bound. */
struct energy_interval {
    bool has_low, has_high;
    double low, high;
};

/* The energy of a job: low as if an idle machine belonged to no job, high as if it belonged to
 * those that ran. */
struct job_energy {
    bool is_asked;
    enum quality quality;                    /* UNKNOWN: joules has nothing */
    struct energy_interval cpu, gpu, joules; /* of the machine: without the PUE */
    struct energy_interval kwh, grams, cost; /* with it */
    double pue;                              /* 0: not given */
    bool has_carbon, has_price;              /* asked for */
    char currency[CURRENCY_BYTES];
    char from[64]; /* sources of the energy, "" when unknown */
    char why[160]; /* it is unknown or a lower bound; "": nothing to explain */
};

/* Fills in what follows from joules and grams (of the machine) and from the prices. */
void job_energy_price(struct job_energy *j, const struct energy_prices *p, uint64_t elapsed_ns);
