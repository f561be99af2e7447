/* SPDX-License-Identifier: MIT */
/* reading.h - one row of another tuner's text as a record, through the format and its map. */
#ifndef TUNE_TESTS_FORMATS_READING_H
#define TUNE_TESTS_FORMATS_READING_H

#include "formats/syntax/foreign.h"
#include "formats/convert.h"

#include <string.h>

struct reading {
    const struct convert_map *map;
    struct record record; /* the caller's, where e is ERR_OK */
    enum err e;
    struct why why;
    size_t n; /* rows seen: the reading ends with the first */
};

/* NULL when there is none. */
static inline const struct convert_map *map_of(const char *format)
{
    for (const struct convert_map *const *m = convert_maps; *m; m++)
        if (strcmp((*m)->format, format) == 0)
            return *m;
    return NULL;
}

static inline bool reading_row(const struct foreign_row *row, void *arg)
{
    struct reading *r = arg;

    r->n++;
    r->e = r->map->to_record(row, &r->record, &r->why);
    return false;
}

/* A text that the format reads, with at least one row in it; else a failed test. */
static inline struct reading read_row(const char *format, const char *text)
{
    struct reading r = {.map = map_of(format)};
    const struct foreign_sink sink = {.row = reading_row, .arg = &r};

    assert_non_null(r.map);
    assert_int_equal(foreign_find(format)->read(text, strlen(text), &sink, NULL), ERR_OK);
    assert_int_equal(r.n, 1);
    return r;
}

#endif
