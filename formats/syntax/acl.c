/* SPDX-License-Identifier: MIT */
/* Files of the Compute Library's CLTuner: a line "kernel_id;x;y;z" for each kernel, the best group size (0;0;0 = what
 * the driver takes), in newer versions after a header "lws" and with a fourth number, wbsm (a hint to the scheduler). A
 * kernel_id ends in "_TARGET_MPn". There are no times. A row's task is the id without its end, its target that end, its
 * knobs lws_x lws_y lws_z and wbsm. */
#include "formats/syntax/foreign.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 4096
#define MAX_SIDE 65536
#define MOST_NUMBERS 4

static const char *const names[MOST_NUMBERS] = {"lws_x", "lws_y", "lws_z", "wbsm"};

/* "gemm_mm_f32_..._G71_MP8" ends at "_G71_MP8"; NULL where it does not end so. */
static char *end_of(char *id)
{
    char *mp = strrchr(id, '_');

    if (!mp || strncmp(mp, "_MP", 3) != 0 || !mp[3] || strspn(mp + 3, "0123456789") != strlen(mp + 3))
        return NULL;
    for (char *at = mp; at > id;)
        if (*--at == '_')
            return at > id ? at : NULL;
    return NULL;
}

/* The numbers behind the id: 3, or 4; -1 for anything else. */
static int read_numbers(char *text, int64_t out[MOST_NUMBERS])
{
    int n = 0;

    for (char *at = text; at; n++) {
        char *end = NULL;
        const long v = strtol(at, &end, 10);

        if (n == MOST_NUMBERS || end == at || (*end && *end != ';') || isspace((unsigned char)*at) || v > MAX_SIDE ||
            v < (n == 3 ? -MAX_SIDE : 0))
            return -1;
        out[n] = v;
        at = *end ? end + 1 : NULL;
    }
    assert(n <= MOST_NUMBERS);
    return n >= 3 ? n : -1;
}

static bool is_row(char *line, char **numbers, int64_t v[MOST_NUMBERS], int *n)
{
    char *semicolon = strchr(line, ';');

    if (!semicolon || semicolon == line)
        return false;
    *semicolon = '\0';
    *numbers = semicolon + 1;
    *n = read_numbers(*numbers, v);
    return *n > 0;
}

static enum err fill(struct foreign_row *r, char *id, const int64_t v[MOST_NUMBERS], int n)
{
    char *end = end_of(id);
    bool ok;

    r->target = end ? strdup(end + 1) : NULL;
    if (end)
        *end = '\0';
    r->task = strdup(id);
    r->knobs = cJSON_CreateObject();
    ok = r->task && r->knobs && (!end || r->target);
    assert(n >= 3 && n <= MOST_NUMBERS);
    for (int i = 0; i < n; i++)
        json_add_i64(r->knobs, names[i], v[i], &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}

struct reading {
    const struct foreign_sink *sink;
    bool any, more;
    enum err failed;
};

static void tell(struct reading *s, int64_t i_line, const char *words)
{
    if (s->sink->bad)
        s->sink->bad(i_line, words, s->sink->arg);
}

static void take_line(struct reading *s, const char *text, size_t n, int64_t i_line)
{
    char line[MAX_LINE], *numbers;
    int64_t v[MOST_NUMBERS];
    struct foreign_row row;
    int n_numbers;

    if (n >= sizeof line) {
        tell(s, i_line, "a line over 4095 bytes");
        return;
    }
    memcpy(line, text, n);
    line[n] = '\0';
    if (n == 0 || (i_line == 1 && strncmp(line, "lws", 3) == 0 && !strchr(line, '_')))
        return;
    if (strlen(line) != n || !is_row(line, &numbers, v, &n_numbers)) {
        tell(s, i_line, "expected kernel_id;lws[0];lws[1];lws[2]");
        return;
    }
    s->any = true;
    foreign_row_init(&row);
    row.i_line = i_line;
    s->failed = fill(&row, line, v, n_numbers);
    s->more = !s->failed && s->sink->row(&row, s->sink->arg);
    foreign_row_fini(&row);
}

static enum err read_file(const char *text, size_t n, const struct foreign_sink *sink, struct why *why)
{
    struct reading s = {.sink = sink, .more = true};
    int64_t i_line = 1;

    for (size_t at = 0; at < n && s.more && !s.failed; i_line++) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t n_line = end ? (size_t)(end - text) - at : n - at;

        take_line(&s, text + at, n_line && text[at + n_line - 1] == '\r' ? n_line - 1 : n_line, i_line);
        at += n_line + 1;
    }
    if (s.failed)
        return why_set(why, s.failed, "%s", err_words(s.failed));
    return s.any || n == 0 ? ERR_OK
                           : why_set(why, ERR_INPUT, "no file of CLTuner: no line kernel_id;lws[0];lws[1];lws[2]");
}

/* The first line that is no header. */
static bool sniff(const char *head, size_t n)
{
    char line[MAX_LINE], *numbers;
    int64_t v[MOST_NUMBERS];
    int n_numbers;

    for (size_t at = 0; at < n;) {
        const char *end = memchr(head + at, '\n', n - at);
        const size_t n_line = end ? (size_t)(end - head) - at : n - at, kept = n_line < MAX_LINE ? n_line : 0;

        assert(kept < sizeof line && at + n_line <= n);
        memcpy(line, head + at, kept);
        line[kept] = '\0';
        line[strcspn(line, "\r")] = '\0';
        if (at > 0 || strncmp(line, "lws", 3) != 0)
            return !strpbrk(line, " \t{\",") && is_row(line, &numbers, v, &n_numbers);
        at += n_line + 1;
    }
    return false;
}

const struct foreign_format foreign_acl = {
    .name = "acl", .summary = "group sizes of the Compute Library's CLTuner, csv", .sniff = sniff, .read = read_file};
