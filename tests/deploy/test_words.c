/* SPDX-License-Identifier: MIT */
/* What is wanted, refused and chosen on the way into a bundle, where tests/libtune does not look: the edges. */
#include "core/file.h"
#include "tests/deploy/sample_set.h"
#include "tests/libtune/sample_layer.h"
#include "deploy/make.h"
#include "deploy/place.h"
#include "deploy/text.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#define DENSE "dense f32 m=3 n=17 k=31"

/* ---- C text ---- */

static const char *real_of(double v)
{
    static char text[64];
    struct buf b;
    buf_init(&b, 64);
    deploy_text_real(v, &b);
    (void)snprintf(text, sizeof text, "%s", buf_text(&b));
    buf_fini(&b);
    return text;
}

static void numbers_are_printed_as_c_reads_them(void **state)
{
    struct buf b;
    (void)state;
    assert_string_equal(real_of(NAN), "NAN");
    assert_string_equal(real_of(INFINITY), "INFINITY");
    assert_string_equal(real_of(-INFINITY), "-INFINITY");
    assert_true(strtod(real_of(1.0 / 3), NULL) == 1.0 / 3);
    buf_init(&b, 1000);
    deploy_text_whole(INT64_MIN + 1, &b);
    assert_string_equal(buf_text(&b), "-9223372036854775807");
    buf_clear(&b);
    deploy_text_literal("~ \x7f\x1f", 4, &b);
    assert_string_equal(buf_text(&b), "\"~ \\177\\037\"");
    buf_fini(&b);
}

static void parts_have_the_bundles_name_in_whole_words(void **state)
{
    struct deploy_set s;
    struct why why = {""};
    struct buf b;
    (void)state;
    buf_init(&b, 1 << 20);
    assert_int_equal(deploy_set_init(&s, "my net", &why), ERR_OK);
    assert_int_equal(deploy_text_part(&s, "no_such.c", &b, &why), ERR_NOT_FOUND);
    assert_int_equal(deploy_text_part(&s, "NAME_vectors.h", &b, &why), ERR_OK);
    assert_non_null(strstr(buf_text(&b), "#ifndef MY_NET_VECTORS_H\n"));
    assert_non_null(strstr(buf_text(&b), "#include \"my_net.h\"\n"));
    assert_null(strstr(buf_text(&b), "NAME"));
    assert_null(strstr(buf_text(&b), "CAPS"));
    buf_fini(&b);
    deploy_set_fini(&s);
}

/* ---- names ---- */

static void names_end_where_there_is_no_more_room(void **state)
{
    char out[8], name[DEPLOY_NAME_BYTES], text[DEPLOY_NAME_BYTES + 2];
    struct why why = {""};
    (void)state;
    assert_int_equal(deploy_symbol("a=b=1234", out, 7), ERR_OK); /* six and a NUL */
    assert_string_equal(out, "ab1234");
    assert_int_equal(deploy_symbol("a=b=1234", out, 6), ERR_LIMIT);
    assert_int_equal(deploy_parameter("int", out, 5), ERR_OK);
    assert_int_equal(deploy_parameter("int", out, 4), ERR_LIMIT);
    assert_int_equal(deploy_parameter("9b", out, 4), ERR_OK);
    assert_string_equal(out, "t9b");
    memset(text, 'q', sizeof text);
    text[DEPLOY_NAME_BYTES - 2] = '\0';
    assert_int_equal(deploy_bundle_name(text, name, &why), ERR_OK);
    assert_string_equal(name, text);
    text[DEPLOY_NAME_BYTES - 2] = 'q';
    text[DEPLOY_NAME_BYTES - 1] = '\0';
    assert_int_equal(deploy_bundle_name(text, name, &why), ERR_INPUT);
    deploy_capitals("az_09Z", name);
    assert_string_equal(name, "AZ_09Z");
}

/* ---- what is wanted ---- */

static void want_is(const char *text, size_t n_layers, const char *called, const char *workload)
{
    struct deploy_want w;
    struct why why = {""};
    deploy_want_init(&w);
    if (deploy_want_text(&w, "f", text, strlen(text), &why) != ERR_OK) {
        fail_msg("'%s': %s", text, why.text);
    }
    assert_int_equal(w.n, n_layers);
    assert_string_equal(w.layers[n_layers - 1].called, called);
    assert_string_equal(w.layers[n_layers - 1].workload, workload);
    deploy_want_fini(&w);
}

static void lines_may_have_blanks_comments_and_no_end(void **state)
{
    (void)state;
    want_is(" \t" DENSE " \t\r\n", 1, "", DENSE);
    want_is("a b |" DENSE, 1, "a b", DENSE);
    want_is("  fc|x|3| " DENSE "  # | more", 1, "fc", DENSE);
    want_is("\n \n#a | b\n" DENSE "\n" DENSE "\nlast\t| " DENSE "\n\n", 3, "last", DENSE);
}

static void wanted_lines_have_a_longest(void **state)
{
    static char text[16384];
    struct deploy_want w;
    struct why why = {""};
    size_t longest = 0;
    (void)state;
    for (size_t n = 1000; n < sizeof text - 1 && longest == 0; n++) {
        memset(text, ' ', n);
        memcpy(text, DENSE, sizeof DENSE - 1);
        deploy_want_init(&w);
        if (deploy_want_text(&w, "f", text, n, &why) != ERR_OK) {
            char words[60];
            (void)snprintf(words, sizeof words, "f:1: expected a line of text of at most %zu bytes", n - 1);
            assert_string_equal(why.text, words);
            longest = n - 1;
        }
        deploy_want_fini(&w);
    }
    assert_true(longest > 0);
}

static void files_list_at_least_one_workload(void **state)
{
    char dir[256], path[300];
    struct deploy_want w;
    struct why why = {""};
    (void)state;
    assert_int_equal(dir_temporary("want", dir, sizeof dir, NULL), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/list", dir);
    deploy_want_init(&w);
    assert_int_equal(deploy_want_file(&w, path, &why), ERR_NOT_FOUND);
    assert_int_equal(file_replace(path, "# none\n", 7, 0600, NULL), ERR_OK);
    assert_int_equal(deploy_want_file(&w, path, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "expected at least one workload"));
    assert_int_equal(file_replace(path, DENSE, sizeof DENSE - 1, 0600, NULL), ERR_OK);
    assert_int_equal(deploy_want_file(&w, path, &why), ERR_OK);
    assert_int_equal(w.n, 1);
    deploy_want_fini(&w);
    dir_remove(dir);
}

/* Names that are repeated in the graph come with it; layouts that a layer cannot have stay what they are. */
static void networks_come_in_other_dtypes_and_layouts(void **state)
{
    struct deploy_want w;
    struct why why = {""};
    size_t n_blocked = 0;
    (void)state;
    deploy_want_init(&w);
    assert_int_equal(deploy_want_network(&w, "vgg-16", NULL, "nchw16c", &why), ERR_OK);
    assert_int_equal(w.n, 16);
    for (size_t i = 0; i < w.n; i++) {
        n_blocked += strstr(w.layers[i].workload, "layout=nchw16c") != NULL;
        assert_non_null(strstr(w.layers[i].workload, " f32 "));
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(w.layers[i].called, w.layers[j].called);
        }
    }
    assert_true(n_blocked >= 12 && n_blocked <= 13); /* no dense layer has one */
    assert_int_equal(deploy_want_network(&w, "vgg-16", "f64", NULL, &why), ERR_INPUT);
    deploy_want_fini(&w);
}

/* ---- records ---- */

static struct best_set *best_of(const char *first, const char *second, const char *name, bool other_device)
{
    struct best_set *best = NULL;
    struct record r;
    assert_int_equal(best_new(&best), ERR_OK);
    assert_true(sample_record(first, "dense/naive", &r));
    assert_int_equal(best_add(best, &r), ERR_OK);
    record_fini(&r);
    assert_true(sample_record(second, "dense/naive", &r));
    cJSON_ReplaceItemInObjectCaseSensitive(r.device, "name", cJSON_CreateString(name));
    if (other_device) {
        r.fingerprint = sha256_of("other", 5);
    }
    assert_int_equal(best_add(best, &r), ERR_OK);
    record_fini(&r);
    return best;
}

static void a_bundle_is_for_one_device(void **state)
{
    static const struct {
        const char *name;
        bool other;
        enum err e;
    } cases[] = {{"sample device", false, ERR_OK},
                 {"another", false, ERR_INPUT}, /* records of other tuners have a name only */
                 {"sample device", true, ERR_INPUT}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct best_set *best = best_of(DENSE, "dense f32 m=4 n=17 k=31", cases[i].name, cases[i].other);
        struct why why = {""};
        assert_int_equal(deploy_check_device(best, &why), cases[i].e);
        if (cases[i].e != ERR_OK) {
            assert_non_null(strstr(why.text, "--key or --fingerprint"));
            assert_non_null(strstr(why.text, cases[i].name));
        }
        best_free(best);
    }
}

static void every_record_is_a_layer_when_nothing_is_asked_for(void **state)
{
    struct best_set *best = best_of(DENSE, "dense f32 m=4 n=17 k=31", "sample device", false);
    struct deploy_set s;
    struct why why = {""};
    (void)state;
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    assert_int_equal(deploy_make(&s, best, NULL, false, &why), ERR_OK);
    assert_int_equal(s.n_layers, 2);
    assert_int_equal(s.n_calls, 2);
    assert_string_equal(s.calls[1].symbol, "dense_f32_m4_n17_k31");
    assert_string_equal(s.calls[1].called, "");
    deploy_set_fini(&s);
    best_free(best);
}

/* A workload that is wanted twice is one workload, and told once. */
static void missing_workloads_are_counted_once(void **state)
{
    struct best_set *best = best_of(DENSE, "dense f32 m=4 n=17 k=31", "sample device", false);
    struct deploy_set s;
    struct deploy_want w;
    struct why why = {""};
    (void)state;
    deploy_want_init(&w);
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    assert_int_equal(deploy_want_add(&w, "a", "dense f32 m=5 n=17 k=31", &why), ERR_OK);
    assert_int_equal(deploy_want_add(&w, "b", "dense f32 m=5 n=17 k=31", &why), ERR_OK);
    assert_int_equal(deploy_want_add(&w, "", "dense f32 m=6 n=17 k=31", &why), ERR_OK);
    assert_int_equal(deploy_want_add(&w, "c", DENSE, &why), ERR_OK);
    assert_int_equal(deploy_make(&s, best, &w, false, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "2 of 3 workloads have no record (tune them, or let --allow-nearest choose): "
                                     "a: dense f32 m=5 n=17 k=31; dense f32 m=6 n=17 k=31"));
    deploy_want_fini(&w);
    deploy_set_fini(&s);
    best_free(best);
}

/* No record of the operator: the template's default, told as such, without a time. */
static void a_workload_like_no_record_gets_a_default(void **state)
{
    struct best_set *best = best_of(DENSE, "dense f32 m=4 n=17 k=31", "sample device", false);
    struct deploy_set s;
    struct deploy_want w;
    struct why why = {""};
    (void)state;
    deploy_want_init(&w);
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    assert_int_equal(deploy_want_add(&w, "p", "pool2d f32 n=1 c=4 h=9 w=9 r=3 s=3", &why), ERR_OK);
    assert_int_equal(deploy_make(&s, best, &w, true, &why), ERR_OK);
    const struct deploy_layer *l = &s.layers[0];
    assert_int_equal(l->origin, DEPLOY_DEFAULT);
    assert_true(l->record.time_ns == 0 && l->record.flops == l->program.flops);
    assert_string_equal(l->record.template_id, l->program.template_id);
    assert_true(strncmp(l->record.template_id, "pool2d/", 7) == 0);
    assert_string_equal(l->record.fingerprint.hex, device_desc_fingerprint(&l->device).hex);
    assert_true(l->program.n_passes > 0); /* with test vectors */
    deploy_want_fini(&w);
    deploy_set_fini(&s);
    best_free(best);
}

static void knobs_are_words_with_blanks_between(void **state)
{
    struct deploy_layer l = {.origin = DEPLOY_RECORD};
    struct buf b;
    (void)state;
    l.record.knobs = cJSON_Parse("{\"vc\":4,\"order\":\"hwc\",\"half\":0.5}");
    buf_init(&b, 1000);
    assert_int_equal(deploy_layer_knobs(&l, &b), ERR_OK);
    assert_string_equal(buf_text(&b), "vc=4 order=hwc half=0.5");
    buf_fini(&b);
    cJSON_Delete(l.record.knobs);
    assert_string_equal(deploy_origin_name(DEPLOY_FOREIGN), "foreign");
    assert_string_equal(deploy_origin_name(DEPLOY_DEFAULT), "default");
}

/* ---- folders ---- */

static enum err look(const char *dir, void *arg, struct why *why)
{
    (void)why;
    return strncmp(dir, arg, strlen(arg)) == 0 && strcmp(dir, arg) != 0 ? ERR_OK : ERR_INPUT; /* beside its place */
}

static bool never(const char *dir, struct why *why)
{
    (void)dir;
    (void)why;
    return false;
}

static void bundles_can_be_read_by_others(void **state)
{
    char dir[256], path[300];
    struct stat s;
    struct why why = {""};
    const mode_t mask = umask(077);
    (void)state;
    assert_int_equal(dir_temporary("place", dir, sizeof dir, NULL), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/bundle", dir);
    assert_int_equal(deploy_place(path, never, look, path, &why), ERR_OK);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0755);
    assert_int_equal(deploy_place("", never, look, path, &why), ERR_INPUT);
    umask(mask);
    dir_remove(dir);
}

/* The random pass of gather has numbers of rows that no rule makes, its exact pass has not. */
static void passes_that_no_rule_makes_have_no_vectors(void **state)
{
    static const struct set_sample sample = {"table", "gather f32 n=9 m=4 inner=3", "gather/naive"};
    struct deploy_set s;
    struct why why = {""};
    struct buf b;

    (void)state;
    buf_init(&b, (size_t)1 << 20);
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    assert_int_equal(sample_set_add(&s, &sample, 0, &why), ERR_OK);
    assert_int_equal(deploy_text_vectors(&s, &b, &why), ERR_OK);
    assert_non_null(strstr(buf_text(&b), "\"exact\""));
    assert_null(strstr(buf_text(&b), "\"random\""));
    deploy_set_fini(&s);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_that_no_rule_makes_have_no_vectors),
        cmocka_unit_test(numbers_are_printed_as_c_reads_them),
        cmocka_unit_test(parts_have_the_bundles_name_in_whole_words),
        cmocka_unit_test(names_end_where_there_is_no_more_room),
        cmocka_unit_test(lines_may_have_blanks_comments_and_no_end),
        cmocka_unit_test(wanted_lines_have_a_longest),
        cmocka_unit_test(files_list_at_least_one_workload),
        cmocka_unit_test(networks_come_in_other_dtypes_and_layouts),
        cmocka_unit_test(a_bundle_is_for_one_device),
        cmocka_unit_test(every_record_is_a_layer_when_nothing_is_asked_for),
        cmocka_unit_test(missing_workloads_are_counted_once),
        cmocka_unit_test(a_workload_like_no_record_gets_a_default),
        cmocka_unit_test(knobs_are_words_with_blanks_between),
        cmocka_unit_test(bundles_can_be_read_by_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
