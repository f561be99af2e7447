/* SPDX-License-Identifier: MIT */
/* Merging, deduplicating and compacting logs: every line once, in order, nothing lost unsaid. */
#include "sample.h"

#include "core/file.h"
#include "logs/compact.h"
#include "logs/line.h"
#include "logs/merge.h"
#include "logs/seen.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define MAX_IDS 4096

static char dir[256];

static const char *at(const char *name)
{
    static char paths[8][512];
    static size_t i;

    i = (i + 1) % 8;
    snprintf(paths[i], sizeof paths[i], "%s/%s", dir, name);
    return paths[i];
}

static enum err own_lines(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg),
                          log_warn *warn, void *arg, struct why *why)
{
    (void)warn;
    return log_lines_fd(fd, path, each, arg, why);
}

/* Appends the line of a trial. */
static void put_trial(struct buf *out, const char *id, int64_t ts_ms, double time_ns)
{
    struct record r = sample_record(id);

    r.ts_ms = ts_ms;
    r.time_ns = time_ns;
    assert_int_equal(record_print(&r, out), ERR_OK);
    record_fini(&r);
}

static void write_text(const char *path, const struct buf *text)
{
    assert_int_equal(file_replace(path, buf_text(text), text->len, 0600, NULL), ERR_OK);
}

struct told {
    char text[4096];
};

static void tell(enum merge_word word, const char *path, int64_t i_line, const char *words, void *arg)
{
    struct told *t = arg;
    const size_t n = strlen(t->text);

    snprintf(t->text + n, sizeof t->text - n, "%d %s:%lld %s\n", (int)word, strrchr(path, '/') + 1, (long long)i_line,
             words);
}

static enum err merge(const char *const *paths, size_t n, const char *out, bool one, bool strict, struct told *told,
                      struct merge_report *report, struct why *why)
{
    const struct merge_options o = {own_lines, one, strict, tell, told};

    memset(told, 0, sizeof *told);
    return merge_logs(paths, n, out, &o, report, why);
}

/* The ids and times of a log, in order: "t1/5 t2/6". */
static bool add_id(const struct record *r, const char *line, size_t n, void *arg)
{
    char *text = arg;

    (void)line;
    (void)n;
    snprintf(text + strlen(text), MAX_IDS - strlen(text), "%s%s/%.0f", *text ? " " : "", r->id, r->time_ns);
    return true;
}

static const char *ids_of(const char *path)
{
    static char text[MAX_IDS];

    *text = '\0';
    assert_int_equal(log_scan(path, add_id, NULL, text, NULL), ERR_OK);
    return text;
}

/* a: t1 t2; b: t2 again, t3, t1 with another time, a damaged line, a line of schema 2, a torn one. */
static void make_logs(struct buf *a, struct buf *b)
{
    char newer[256];
    int n;

    buf_init(a, 1 << 20);
    buf_init(b, 1 << 20);
    put_trial(a, "t1", 100, 5);
    put_trial(a, "t2", 200, 6);
    put_trial(b, "t2", 200, 6);
    put_trial(b, "t3", 300, 7);
    put_trial(b, "t1", 100, 8);
    buf_puts(b, "{\"schema\":1,\"id\":\"t9\",\"crc32c\":\"00000000\"}\n\n");
    n = snprintf(newer, sizeof newer, "{\"schema\":2,\"id\":\"t4\",\"job\":\"j\",\"news\":[1],\"ts\":5");
    snprintf(newer + n, sizeof newer - (size_t)n, ",\"crc32c\":\"%08x\"}\n", crc32c(newer, (size_t)n));
    buf_puts(b, newer);
    put_trial(b, "t5", 500, 9);
    b->len -= 30;
    b->data[b->len] = '\0';
    write_text(at("a.jsonl"), a);
    write_text(at("b.jsonl"), b);
}

static void every_line_is_there_once_in_order(void **state)
{
    const char *paths[] = {at("a.jsonl"), at("b.jsonl"), at("a.jsonl")};
    struct merge_report r;
    struct told told;
    struct buf a, b, out;

    (void)state;
    make_logs(&a, &b);
    assert_int_equal(merge(paths, 3, at("c.jsonl"), false, false, &told, &r, NULL), ERR_OK);
    assert_string_equal(ids_of(at("c.jsonl")), "t1/5 t2/6 t3/7 t1/8");
    assert_int_equal(r.n_lines, 10);
    assert_int_equal(r.n_written, 5);
    assert_int_equal(r.n_equal, 3);
    assert_int_equal(r.n_other, 1);
    assert_int_equal(r.n_bad, 2);
    assert_int_equal(r.n_newer, 1);
    assert_non_null(strstr(told.text, "1 b.jsonl:3 trial t1 of job j12 stands at"));
    assert_non_null(strstr(told.text, "a.jsonl:1 with other content"));
    assert_non_null(strstr(told.text, "0 b.jsonl:4 damaged"));
    assert_non_null(strstr(told.text, "2 b.jsonl:6 schema 2 is newer than 1"));
    assert_non_null(strstr(told.text, "0 b.jsonl:7 the file ends within this line"));
    buf_init(&out, 1 << 20);
    assert_int_equal(file_read(at("c.jsonl"), &out, NULL), ERR_OK);
    assert_non_null(strstr(out.data, "\"news\":[1]")); /* what is newer is kept as it stands */
    assert_int_equal(out.data[out.len - 1], '\n');
    buf_fini(&a);
    buf_fini(&b);
    buf_fini(&out);
}

static void of_a_trial_the_last_line_stays_where_one_is_asked_for(void **state)
{
    const char *paths[] = {at("a.jsonl"), at("b.jsonl")};
    struct merge_report r;
    struct told told;
    struct buf a, b;

    (void)state;
    make_logs(&a, &b);
    assert_int_equal(merge(paths, 2, at("a.jsonl"), true, false, &told, &r, NULL), ERR_OK); /* one of its inputs */
    assert_string_equal(ids_of(at("a.jsonl")), "t2/6 t3/7 t1/8");
    assert_true(r.n_lines == 8 && r.n_written == 4 && r.n_equal == 1 && r.n_other == 1 && r.n_bad == 2);
    buf_fini(&a);
    buf_fini(&b);
}

static void strict_writes_nothing_at_the_first_doubt(void **state)
{
    const char *paths[] = {at("a.jsonl"), at("b.jsonl")};
    struct merge_report r;
    struct told told;
    struct why why = {""};
    struct buf a, b;

    (void)state;
    make_logs(&a, &b);
    assert_int_equal(merge(paths, 2, at("s.jsonl"), false, true, &told, &r, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "b.jsonl:3: trial t1"));
    assert_int_not_equal(access(at("s.jsonl"), F_OK), 0);
    assert_int_equal(merge(paths, 1, at("s.jsonl"), false, true, &told, &r, &why), ERR_OK);
    assert_string_equal(ids_of(at("s.jsonl")), "t1/5 t2/6");
    buf_fini(&a);
    buf_fini(&b);
}

static void a_file_that_cannot_be_read_leaves_the_old_one(void **state)
{
    const char *paths[] = {at("a.jsonl"), at("none.jsonl")};
    struct merge_report r;
    struct told told;
    struct why why = {""};
    struct buf a, b, out;

    (void)state;
    make_logs(&a, &b);
    assert_int_equal(file_replace(at("o.jsonl"), "old\n", 4, 0600, NULL), ERR_OK);
    assert_int_equal(merge(paths, 2, at("o.jsonl"), false, false, &told, &r, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "none.jsonl"));
    buf_init(&out, 100);
    assert_int_equal(file_read(at("o.jsonl"), &out, NULL), ERR_OK);
    assert_string_equal(buf_text(&out), "old\n");
    buf_fini(&a);
    buf_fini(&b);
    buf_fini(&out);
}

static void trials_of_two_farms_with_the_same_names_are_two(void **state)
{
    const char *paths[] = {at("x.jsonl")};
    struct merge_report r;
    struct told told;
    struct buf x;

    (void)state;
    buf_init(&x, 1 << 20);
    put_trial(&x, "t1", 100, 5);
    put_trial(&x, "t1", 900, 5); /* "t1" of "j12" of the next private farm */
    write_text(at("x.jsonl"), &x);
    assert_int_equal(merge(paths, 1, at("y.jsonl"), true, true, &told, &r, NULL), ERR_OK);
    assert_int_equal(r.n_written, 2);
    buf_fini(&x);
}

static void the_set_of_lines_grows_and_tells_them_apart(void **state)
{
    struct seen s;

    (void)state;
    assert_int_equal(seen_init(&s), ERR_OK);
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < 100000; i++) {
            enum seen_kind kind;
            uint64_t former;
            const uint64_t trial = seen_hash(&s, &i, sizeof i);

            assert_int_equal(seen_note(&s, trial, i, i + 1, &kind, &former), ERR_OK);
            assert_int_equal(kind, pass ? SEEN_EQUAL : SEEN_NEW);
            assert_int_equal(former, pass ? i + 1 : 0);
            if (pass && i % 1000 == 0) {
                assert_int_equal(seen_note(&s, trial, i + 7, 500000 + i, &kind, &former), ERR_OK);
                assert_int_equal(kind, SEEN_OTHER);
                assert_int_equal(former, i + 1);
            }
        }
    assert_int_equal(s.n, 100100);
    assert_null(seen_find(&s, 12345));
    assert_true(s.cap * sizeof *s.entries + s.by_trial.n_slots * sizeof(struct map_slot) <= s.n * 64);
    seen_fini(&s);
}

/* Vectors made with Python 3.11's and later hash of bytes, which is SipHash-1-3 with a key of zeros under
 * PYTHONHASHSEED=0. */
static void the_hash_is_siphash_1_3(void **state)
{
    const struct seen s = {.key = {0, 0}};

    (void)state;
    assert_true(seen_hash(&s, "a", 1) == 0x407448d2b89b1813u);
    assert_true(seen_hash(&s, "abcdefgh", 8) == 0x3f7b849c0b8e35eau);
    assert_true(seen_hash(&s, "tune log merge a.jsonl b.jsonl", 30) == 0x215197dab4db5927u);
}

static void heads_are_read_the_same_from_any_order_of_members(void **state)
{
    static const char *const members[] = {
        "\"schema\":1,\"id\":\"t7\",\"job\":\"j2\",\"workload\":\"w\",\"knobs\":{},\"status\":\"ok\",\"ts\":42",
        "\"ts\":42,\"schema\":1,\"job\":\"j2\",\"id\":\"t7\"",
        "\"schema\":1,\"id\":\"\\u0074\\u0037\",\"job\":\"j2\",\"x\":\"\\\",\\\"ts\\\":9\",\"ts\":42",
    };

    (void)state;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char text[512];
        struct line_head h;
        struct why why = {""};
        int n = snprintf(text, sizeof text, "{%s", members[i]);

        n += snprintf(text + n, sizeof text - (size_t)n, ",\"crc32c\":\"%08x\"}", crc32c(text, (size_t)n));
        if (line_head(&(struct log_line){text, (size_t)n, 1, false}, &h, &why))
            fail_msg("%s", why.text);
        assert_true(strcmp(h.id, "t7") == 0 && strcmp(h.job, "j2") == 0 && h.ts_ms == 42 && h.schema == 1);
    }
}

#define N_SEARCH 300

/* 300 searches of which a few are fast, a redo that throws one out, finals, an anchor, lost trials. */
static void make_long_log(void)
{
    struct buf text;

    buf_init(&text, 1 << 22);
    for (int i = 0; i < N_SEARCH; i++) {
        struct record r = sample_record("t");
        char number[16];

        snprintf(r.id, sizeof r.id, "t%d", i);
        snprintf(number, sizeof number, "p%d", i);
        r.program = sha256_of(number, strlen(number));
        r.anchor.hash = sha256_of("p17", 3); /* the anchor is trial 17, one of the slow */
        r.lnratio = NAN;
        r.time_ns = 1e6 + (i * 7919) % 1009 * 1e3 + (i == 17) * 1e7;
        r.ts_ms = 1000 + i;
        r.status = i % 29 == 3 ? STATUS_COMPILE : i % 31 == 4 ? STATUS_LOST : STATUS_OK;
        strcpy(r.purpose, i == 200 ? "redo" : i >= 295 ? "final" : "search");
        assert_int_equal(record_print(&r, &text), ERR_OK);
        record_fini(&r);
    }
    write_text(at("long.jsonl"), &text);
    buf_fini(&text);
}

static bool add_best(const struct record *r, const char *line, size_t n, void *arg)
{
    (void)line;
    (void)n;
    return best_add(arg, r) == ERR_OK;
}

/* The best log of a log, as text. */
static void best_text(const char *path, struct buf *out)
{
    struct best_set *b = NULL;

    buf_init(out, 1 << 20);
    assert_int_equal(best_new(&b), ERR_OK);
    assert_int_equal(log_scan(path, add_best, NULL, b, NULL), ERR_OK);
    assert_int_equal(best_write(b, at("best"), NULL), ERR_OK);
    assert_int_equal(file_read(at("best"), out, NULL), ERR_OK);
    best_free(b);
}

static bool has_line(const struct buf *text, const char *id)
{
    char member[64];

    snprintf(member, sizeof member, "\"id\":\"%s\",", id);
    return strstr(buf_text(text), member);
}

static void a_compact_log_has_the_same_best_finals_and_provenance(void **state)
{
    struct compact_report r;
    struct buf before, after, text;

    (void)state;
    make_long_log();
    assert_int_equal(compact_log(at("long.jsonl"), at("short.jsonl"), 20, own_lines, NULL, &r, NULL), ERR_OK);
    assert_int_equal(r.n_lines, N_SEARCH);
    assert_int_equal(r.n_lost, 10);
    assert_true(r.n_written >= 20 + 6 && r.n_written < 60);
    best_text(at("long.jsonl"), &before);
    best_text(at("short.jsonl"), &after);
    assert_true(before.len > 0);
    assert_string_equal(buf_text(&before), buf_text(&after));
    buf_init(&text, 1 << 22);
    assert_int_equal(file_read(at("short.jsonl"), &text, NULL), ERR_OK);
    assert_true(has_line(&text, "t200") && has_line(&text, "t295") && has_line(&text, "t299")); /* redo, finals */
    assert_true(has_line(&text, "t17"));                                                        /* the anchor */
    assert_null(strstr(text.data, "\"status\":\"lost\""));
    buf_fini(&before);
    buf_fini(&after);
    buf_fini(&text);
}

static void compacting_twice_changes_nothing_more_and_small_logs_stay(void **state)
{
    struct compact_report r;
    struct buf once, twice;

    (void)state;
    make_long_log();
    buf_init(&once, 1 << 22);
    buf_init(&twice, 1 << 22);
    assert_int_equal(compact_log(at("long.jsonl"), at("short.jsonl"), 1000, own_lines, NULL, &r, NULL), ERR_OK);
    assert_int_equal(r.n_written, N_SEARCH - 10);
    assert_int_equal(file_read(at("short.jsonl"), &once, NULL), ERR_OK);
    assert_non_null(strstr(once.data, "\"status\":\"compile\"")); /* failures are data */
    assert_int_equal(compact_log(at("short.jsonl"), at("short.jsonl"), 1000, own_lines, NULL, &r, NULL), ERR_OK);
    assert_int_equal(file_read(at("short.jsonl"), &twice, NULL), ERR_OK);
    assert_string_equal(buf_text(&once), buf_text(&twice));
    buf_fini(&once);
    buf_fini(&twice);
}

/* ---- what stays of a log ---- */

/* One record of the searches below: everything that matters to what stays. */
struct trial {
    const char *id, *purpose, *template_id;
    char device;
    enum record_status status;
    double time_ns;
};

static void put_search(struct buf *out, const struct trial *t, int64_t ts_ms)
{
    struct record r;

    record_init(&r);
    snprintf(r.id, sizeof r.id, "%s", t->id);
    strcpy(r.job, "j");
    strcpy(r.purpose, t->purpose);
    r.workload = strdup("w");
    snprintf(r.template_id, sizeof r.template_id, "%s", t->template_id);
    r.knobs = cJSON_CreateObject();
    r.status = t->status;
    r.time_ns = t->time_ns;
    memset(r.fingerprint.hex, t->device, SHA256_HEX);
    r.ts_ms = ts_ms;
    assert_int_equal(record_print(&r, out), ERR_OK);
    record_fini(&r);
}

/* Ids of what stays of a log of these trials. Behind them come eight finals: a best set keeps eight records of a run,
 * and no search is among them then. */
static const char *stays_of(const struct trial *trials, size_t n, size_t n_keep)
{
    static const char finals[] = " F/1000 F/1000 F/1000 F/1000 F/1000 F/1000 F/1000 F/1000";
    struct compact_report r;
    static char ids[MAX_IDS];
    struct buf text;

    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < n; i++)
        put_search(&text, &trials[i], (int64_t)i);
    for (int64_t i = 0; i < 8; i++)
        put_search(&text, &(struct trial){"F", "final", "t", 'a', STATUS_OK, 1000}, 1000 + i);
    write_text(at("k.jsonl"), &text);
    assert_int_equal(compact_log(at("k.jsonl"), at("k2.jsonl"), n_keep, own_lines, NULL, &r, NULL), ERR_OK);
    assert_int_equal(r.n_lines, n + 8);
    snprintf(ids, sizeof ids, "%s", ids_of(at("k2.jsonl")));
    assert_non_null(strstr(ids, finals));
    strstr(ids, finals)[0] = '\0';
    buf_fini(&text);
    return ids;
}

#define OK(id, ns)                                                                                                     \
    {                                                                                                                  \
        id, "search", "t", 'a', STATUS_OK, ns                                                                          \
    }

/* By hand: of 12 the fastest 3 of 6 are f (10), c (20), and of the three with 30 the first, b; of the nine others,
 * a d e g h i j k l, the first, the last and the one in the middle. */
static void the_fastest_and_an_even_share_of_the_rest_stay(void **state)
{
    static const struct trial twelve[] = {
        OK("a", 90), OK("b", 30), OK("c", 20), OK("d", 70), OK("e", 30), OK("f", 10),
        OK("g", 60), OK("h", 30), OK("i", 50), OK("j", 80), OK("k", 95), OK("l", 40),
    };

    (void)state;
    assert_string_equal(stays_of(twelve, 12, 6), "a/90 b/30 c/20 f/10 h/30 l/40");
    assert_string_equal(stays_of(twelve, 12, 12), "a/90 b/30 c/20 d/70 e/30 f/10 g/60 h/30 i/50 j/80 k/95 l/40");
    assert_string_equal(stays_of(twelve, 12, 2), "a/90 f/10");
    assert_string_equal(stays_of(twelve, 12, 3), "a/90 c/20 f/10"); /* the half is 2, the rest 1: its first */
}

/* Failures are the slowest; what is no search stays, what was lost goes; each search is counted by itself. */
static void searches_are_told_apart_by_template_and_device(void **state)
{
    static const struct trial mixed[] = {
        {"a", "search", "t", 'a', STATUS_COMPILE, 0}, {"b", "search", "t", 'a', STATUS_OK, 3},
        {"c", "search", "u", 'a', STATUS_OK, 9},      {"d", "search", "t", 'b', STATUS_OK, 8},
        {"e", "search", "t", 'a', STATUS_OK, 5},      {"f", "search", "u", 'a', STATUS_OK, 7},
        {"h", "search", "t", 'a', STATUS_LOST, 0},    {"i", "search", "t", 'a', STATUS_OK, 4},
        {"k", "search", "t", 'a', STATUS_WRONG, 0},   {"j", "redo", "t", 'a', STATUS_WRONG, 0},
        {"l", "final", "t", 'a', STATUS_LOST, 0},     {"g", "final", "t", 'a', STATUS_OK, 50},
    };

    (void)state;
    /* t on a has a b e i k: of 2 the fastest, b, and of a e i k the first; u and t on b have no more than 2 */
    assert_string_equal(stays_of(mixed, 12, 2), "a/0 b/3 c/9 d/8 f/7 j/0 g/50");
}

struct warned {
    size_t n;
    int64_t i_last;
};

static void count_warning(const char *path, int64_t i_line, const char *words, void *arg)
{
    static struct warned none;
    struct warned *w = arg ? arg : &none;

    (void)path;
    assert_true(words[0]);
    w->n++;
    w->i_last = i_line;
}

/* t1 twice, a bad line, a line of schema 2, an empty one, t2 with another line end, a torn one. */
static void equal_bad_newer_and_torn_lines_are_counted(void **state)
{
    struct compact_report r;
    struct buf text, out;
    char newer[256];
    int n;

    (void)state;
    buf_init(&text, 1 << 20);
    put_trial(&text, "t1", 100, 5);
    put_trial(&text, "t1", 100, 5);
    buf_puts(&text, "junk\n");
    n = snprintf(newer, sizeof newer, "{\"schema\":2,\"id\":\"t4\",\"news\":[1]");
    snprintf(newer + n, sizeof newer - (size_t)n, ",\"crc32c\":\"%08x\"}\n", crc32c(newer, (size_t)n));
    buf_puts(&text, newer);
    buf_puts(&text, "\n");
    put_trial(&text, "t2", 200, 6);
    text.len--;
    buf_puts(&text, "\r\n");
    put_trial(&text, "t2", 200, 6);
    put_trial(&text, "t3", 300, 7);
    text.len -= 9;
    write_text(at("m.jsonl"), &text);
    assert_int_equal(compact_log(at("m.jsonl"), at("m2.jsonl"), 9, own_lines, count_warning, &r, NULL), ERR_OK);
    assert_string_equal(ids_of(at("m2.jsonl")), "t1/5 t2/6");
    assert_true(r.n_lines == 7 && r.n_written == 3 && r.n_equal == 2 && r.n_bad == 2 && r.n_newer == 1);
    buf_init(&out, 1 << 20);
    assert_int_equal(file_read(at("m2.jsonl"), &out, NULL), ERR_OK);
    assert_non_null(strstr(out.data, newer));
    assert_null(strchr(out.data, '\r'));
    buf_fini(&out);
    buf_fini(&text);
    assert_int_equal(compact_log(at("none.jsonl"), at("m2.jsonl"), 9, own_lines, NULL, &r, NULL), ERR_NOT_FOUND);
}

static void put_gzipped(const char *path, const void *bytes, size_t n)
{
    gzFile f = gzopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

static void gzipped_logs_are_merged_and_compacted(void **state)
{
    struct compact_report c;
    struct merge_report r;
    struct told told;
    struct buf a, b, z;

    (void)state;
    make_logs(&a, &b);
    buf_init(&z, 1 << 20);
    put_trial(&z, "t7", 700, 1);
    put_trial(&z, "t1", 100, 5);
    put_gzipped(at("z.gz"), z.data, z.len);
    for (int one = 0; one < 2; one++) {
        const char *paths[] = {at("z.gz"), at("a.jsonl")};

        assert_int_equal(merge(paths, 2, at("c.jsonl"), one, false, &told, &r, NULL), ERR_OK);
        assert_string_equal(ids_of(at("c.jsonl")), "t7/1 t1/5 t2/6");
        assert_true(r.n_lines == 4 && r.n_equal == 1 && r.n_written == 3 && r.n_written_first == 2);
    }
    assert_int_equal(compact_log(at("z.gz"), at("c.jsonl"), 9, own_lines, NULL, &c, NULL), ERR_OK);
    assert_string_equal(ids_of(at("c.jsonl")), "t7/1 t1/5");
    buf_fini(&a);
    buf_fini(&b);
    buf_fini(&z);
}

/* ---- lines ---- */

static void lines_that_end_in_a_carriage_return_are_the_same(void **state)
{
    struct merge_report r;
    struct told told;
    struct buf a, b, out;

    (void)state;
    make_logs(&a, &b);
    buf_fini(&b);
    buf_init(&b, 1 << 20);
    put_trial(&b, "t2", 200, 6);
    b.len--;
    buf_puts(&b, "\r\n");
    put_trial(&b, "t8", 800, 8);
    b.len--;
    buf_puts(&b, "\r\n");
    write_text(at("r.jsonl"), &b);
    for (int one = 0; one < 2; one++) {
        const char *paths[] = {at("a.jsonl"), at("r.jsonl")};

        assert_int_equal(merge(paths, 2, at("c.jsonl"), one, true, &told, &r, NULL), ERR_OK);
        assert_string_equal(ids_of(at("c.jsonl")), "t1/5 t2/6 t8/8");
        assert_true(r.n_equal == 1 && r.n_written_first == 2);
        buf_init(&out, 1 << 20);
        assert_int_equal(file_read(at("c.jsonl"), &out, NULL), ERR_OK);
        assert_null(strchr(out.data, '\r'));
        buf_fini(&out);
    }
    buf_fini(&a);
    buf_fini(&b);
}

/* The line of some members with a right sum. */
static enum err head_of(const char *members, struct line_head *h, struct why *why)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "{%s", members);

    n += snprintf(text + n, sizeof text - (size_t)n, ",\"crc32c\":\"%08x\"}", crc32c(text, (size_t)n));
    return line_head(&(struct log_line){text, (size_t)n, 1, false}, h, why);
}

#define ID_64 "0123456789012345678901234567890123456789012345678901234567890123"
#define JOB_39 "012345678901234567890123456789012345678"

static void heads_have_bounds(void **state)
{
    static const struct {
        const char *members;
        bool is_good;
        int64_t ts;
    } cases[] = {
        {"\"schema\":1,\"id\":\"t\",\"job\":\"j\",\"x\":1,\"ts\":999999999999999", true, 999999999999999},
        {"\"schema\":1,\"id\":\"t\",\"job\":\"j\",\"x\":1,\"ts\":9007199254740992", true, 9007199254740992},
        {"\"schema\":1,\"id\":\"t\",\"job\":\"j\",\"x\":1,\"ts\":9007199254740994", false, 0},
        {"\"schema\":1,\"id\":\"t\",\"job\":\"j\",\"x\":1,\"ts\":-5", true, -5},
        {"\"schema\":1,\"id\":\"t\",\"job\":\"j\",\"xts\":5,\"ts\":7", true, 7},
        {"\"schema\":1,\"id\":\"t\",\"job\":\"j\",\"ts\":7,\"x\":5", true, 7},
        {"\"schema\":1,\"id\":\"t\",\"job\":\"j\"", true, 0},
        {"\"schema\":1,\"id\":\"t\"", true, 0},
        {"\"schema\":2147483647,\"id\":\"t\",\"job\":\"j\",\"ts\":7", true, 7},
        {"\"schema\":0,\"id\":\"t\",\"x\":1", false, 0},
        {"\"schema\":0,\"id\":\"t\",\"job\":\"j\",\"x\":1,\"ts\":7", false, 0},
        {"\"schema\":2147483648,\"id\":\"t\",\"job\":\"j\",\"x\":1,\"ts\":7", false, 0},
        {"\"id\":\"t\",\"ts\":7", false, 0},
        {"\"schema\":1,\"ts\":7", false, 0},
        {"\"schema\":1,\"id\":\"" ID_64 "\",\"job\":\"" JOB_39 "\",\"ts\":7", true, 7},
        {"\"schema\":1,\"id\":\"" ID_64 "x\",\"job\":\"j\",\"ts\":7", false, 0},
        {"\"schema\":1,\"id\":\"t\",\"job\":\"" JOB_39 "x\",\"ts\":7", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct line_head h = {.ts_ms = 0};
        struct why why = {""};
        const enum err e = head_of(cases[i].members, &h, &why);

        if (e != (cases[i].is_good ? ERR_OK : ERR_INPUT) || h.ts_ms != cases[i].ts)
            fail_msg("%s: %s %s, ts %lld", cases[i].members, err_name(e), why.text, (long long)h.ts_ms);
    }
    {
        struct line_head h;

        assert_int_equal(head_of("\"schema\":1,\"id\":\"" ID_64 "\",\"job\":\"" JOB_39 "\",\"ts\":7", &h, NULL),
                         ERR_OK);
        assert_string_equal(h.id, ID_64);
        assert_string_equal(h.job, JOB_39);
        assert_int_equal(line_head(&(struct log_line){NULL, 0, 1, false}, &h, NULL), ERR_INPUT);
        assert_int_equal(line_head(&(struct log_line){"", 0, 1, false}, &h, NULL), ERR_INPUT);
    }
}

/* Of three lines of a trial the third is told where the first stands; each stays. */
static void a_third_line_of_a_trial_is_told_of_the_first(void **state)
{
    const char *paths[] = {at("x.jsonl"), at("y.jsonl")};
    struct merge_report r;
    struct told told;
    struct buf x;

    (void)state;
    buf_init(&x, 1 << 20);
    put_trial(&x, "t1", 100, 1);
    put_trial(&x, "t1", 100, 2);
    write_text(at("x.jsonl"), &x);
    buf_clear(&x);
    put_trial(&x, "t1", 100, 3);
    put_trial(&x, "t1", 100, 2);
    write_text(at("y.jsonl"), &x);
    assert_int_equal(merge(paths, 2, at("z.jsonl"), false, false, &told, &r, NULL), ERR_OK);
    assert_string_equal(ids_of(at("z.jsonl")), "t1/1 t1/2 t1/3");
    assert_true(r.n_other == 2 && r.n_equal == 1 && r.n_written_first == 2);
    assert_non_null(strstr(told.text, "1 x.jsonl:2 trial t1 of job j12 stands at"));
    assert_non_null(strstr(told.text, "1 y.jsonl:1 trial t1"));
    assert_non_null(strstr(strstr(told.text, "1 y.jsonl:1"), "x.jsonl:1 with other content"));
    buf_fini(&x);
}

/* By the definition of the set: a list. */
static void entries_are_found_again_however_they_collide(void **state)
{
    enum { N = 5000 };
    struct seen s;

    (void)state;
    assert_int_equal(seen_init(&s), ERR_OK);
    for (uint64_t i = 0; i < N; i++) { /* low bits alike, so that all begin at few slots */
        struct seen_entry *e = seen_only(&s, i << 20 | i % 3);

        assert_non_null(e);
        assert_int_equal(e->place, 0);
        e->place = i + 1;
        e->line = i * 7;
    }
    assert_int_equal(s.n, N);
    for (uint64_t i = 0; i < N; i++) {
        const struct seen_entry *e = seen_find(&s, i << 20 | i % 3);

        assert_non_null(e);
        assert_true(e->place == i + 1 && e->line == i * 7);
        assert_ptr_equal(seen_only(&s, i << 20 | i % 3), e);
        assert_null(seen_find(&s, i << 20 | 3));
    }
    assert_true(s.n == N && 4 * s.n <= 3 * s.cap);
    assert_true(seen_trial(&s, "a", "b", 1) != seen_trial(&s, "a", "b", 2));
    assert_true(seen_trial(&s, "a", "b", 1) != seen_trial(&s, "a", "c", 1));
    assert_true(seen_trial(&s, "a", "b", 1) == seen_trial(&s, "a", "b", 1));
    seen_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_is_there_once_in_order),
        cmocka_unit_test(of_a_trial_the_last_line_stays_where_one_is_asked_for),
        cmocka_unit_test(strict_writes_nothing_at_the_first_doubt),
        cmocka_unit_test(a_file_that_cannot_be_read_leaves_the_old_one),
        cmocka_unit_test(trials_of_two_farms_with_the_same_names_are_two),
        cmocka_unit_test(the_set_of_lines_grows_and_tells_them_apart),
        cmocka_unit_test(the_hash_is_siphash_1_3),
        cmocka_unit_test(heads_are_read_the_same_from_any_order_of_members),
        cmocka_unit_test(a_compact_log_has_the_same_best_finals_and_provenance),
        cmocka_unit_test(compacting_twice_changes_nothing_more_and_small_logs_stay),
        cmocka_unit_test(the_fastest_and_an_even_share_of_the_rest_stay),
        cmocka_unit_test(searches_are_told_apart_by_template_and_device),
        cmocka_unit_test(equal_bad_newer_and_torn_lines_are_counted),
        cmocka_unit_test(gzipped_logs_are_merged_and_compacted),
        cmocka_unit_test(lines_that_end_in_a_carriage_return_are_the_same),
        cmocka_unit_test(heads_have_bounds),
        cmocka_unit_test(a_third_line_of_a_trial_is_told_of_the_first),
        cmocka_unit_test(entries_are_found_again_however_they_collide),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
