/* SPDX-License-Identifier: MIT */
/* gain.h - how much further trials of a search are expected to gain, from the values it has seen. */
#ifndef TUNE_TUNER_GAIN_H
#define TUNE_TUNER_GAIN_H

#include <stddef.h>

#define GAIN_TOP 10     /* smallest values whose spread says how long the tail is */
#define GAIN_RECORDS 32 /* improvements remembered, the last ones */
#define GAIN_AHEAD 100  /* trials that the stated estimate looks ahead */

struct gain {
    size_t n;                 /* trials seen, failed ones too */
    double top[GAIN_TOP + 1]; /* smallest values, ascending */
    size_t n_top;
    struct gain_record {
        size_t at; /* trials seen before it */
        double drop;
    } records[GAIN_RECORDS]; /* of the best value, a ring */
    size_t n_records;        /* of all times */
};

/* Starts as all zero. Adds one trial: its value (ln time), NAN = failed. */
void gain_add(struct gain *g, double value);

/* Expected drop of the best value (ln time; 0.01 = 1 % less time) by trials number ahead .. ahead + n_more - 1 from
 * now,
 * >= 0 and falling with `ahead`. NAN before the fourth trial or the first that is ok.
 *
 * Records of independent draws come at the rate 1 in ln n (Renyi 1962), those of a search that learns at its own: the
 * rate is taken from the last three quarters of the trials, with one record in one unit of ln n as prior. The size of
 * the next one is the mean of the last three drops and of the mean excess of the GAIN_TOP smallest values (Hill 1975,
 * of ln times). Each record halves those to come, as the tail ends somewhere. */
double gain_expected(const struct gain *g, double ahead, double n_more);

#endif
