/* SPDX-License-Identifier: MIT */
#include "formats/syntax/timestamp.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Days since 1970-01-01 in the Gregorian calendar: years are counted from March, so that leap days come last. */
static int64_t days_of(int64_t year, int month, int day)
{
    const int64_t y = month > 2 ? year : year - 1,
                  era_day = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    assert(month >= 1 && month <= 12);
    return 365 * y + y / 4 - y / 100 + y / 400 + era_day - 719468;
}

static int64_t fraction_ms(const char **at)
{
    int64_t ms = 0, unit = 100;

    if (**at != '.')
        return 0;
    for (++*at; **at >= '0' && **at <= '9'; ++*at, unit /= 10)
        ms += (**at - '0') * unit;
    return ms;
}

/* Minutes east of Greenwich; false when it is no zone. */
static bool read_zone(const char *at, int *minutes)
{
    int h = 0, m = 0;
    char sign;

    *minutes = 0;
    if (!*at || strcmp(at, "Z") == 0 || strcmp(at, " UTC") == 0)
        return true;
    if (sscanf(at, "%c%2d:%2d", &sign, &h, &m) != 3 || (sign != '+' && sign != '-') || h < 0 || h > 18 || m < 0 ||
        m > 59)
        return false;
    *minutes = (sign == '-' ? -1 : 1) * (60 * h + m);
    return true;
}

int64_t timestamp_ms(const char *text)
{
    int year, month, day, h, m, s, n = 0, zone;
    const char *at;
    int64_t ms;
    char between;

    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d:%2d%n", &year, &month, &day, &between, &h, &m, &s, &n) != 7 || n == 0 ||
        (between != 'T' && between != ' ') || year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || h < 0 ||
        h > 23 || m < 0 || m > 59 || s < 0 || s > 60)
        return 0;
    at = text + n;
    ms = fraction_ms(&at);
    if (!read_zone(at, &zone))
        return 0;
    return (((days_of(year, month, day) * 24 + h) * 60 + m - zone) * 60 + s) * 1000 + ms;
}
