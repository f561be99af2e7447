/* SPDX-License-Identifier: MIT */
/* Feeds files to every format of the table, whatever its sniffing says: rows must hold together, and what a format
 * writes of them it must read again. */
#include "formats/syntax/foreign.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

struct tried {
    const struct foreign_format *format;
    size_t n_rows;
};

static void write_and_read(const struct foreign_format *f, const struct foreign_row *row);

static bool take(const struct foreign_row *row, void *arg)
{
    struct tried *t = arg;

    if ((unsigned)row->status >= N_STATUSES || row->n_samples > RECORD_MAX_SAMPLES || row->time_s < 0)
        fuzz_die("%s: a row that does not hold together", t->format->name);
    if (t->n_rows++ < 4)
        write_and_read(t->format, row);
    return true;
}

static bool count(const struct foreign_row *row, void *arg)
{
    (void)row;
    ++*(size_t *)arg;
    return true;
}

static void tell(int64_t i_line, const char *why, void *arg)
{
    const struct tried *t = arg;

    if (i_line < 0 || !why[0])
        fuzz_die("%s: a bad row without words", t->format->name);
}

static void forget(int64_t i_line, const char *why, void *arg)
{
    (void)i_line;
    (void)why;
    (void)arg;
}

static void write_and_read(const struct foreign_format *f, const struct foreign_row *row)
{
    struct foreign_sink sink = {count, forget, NULL};
    struct buf text;
    size_t n = 0;

    if (!f->write)
        return;
    sink.arg = &n;
    buf_init(&text, 1 << 22);
    if (f->write(row, 1, &text, NULL) == ERR_OK && (f->read(buf_text(&text), text.len, &sink, NULL) || n != 1))
        fuzz_die("%s: it does not read what it wrote", f->name);
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_copy(data, n);

    (void)foreign_sniff(text, n);
    for (const struct foreign_format *const *f = foreign_formats; *f; f++) {
        struct tried t = {*f, 0};
        const struct foreign_sink sink = {take, tell, &t};
        struct why why = {""};

        if ((*f)->read && (*f)->read(text, n, &sink, &why))
            fuzz_check_words((*f)->name, why.text);
    }
    free(text);
    return 0;
}
