/* SPDX-License-Identifier: MIT */
/* Files of TLS, without anybody to talk to: who may read them, which of them are fit for what, and the words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/tracker/cert_files.h"

#include "core/buf.h"
#include "tracker/tls.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

/* What vouches is for everybody, private keys are for their owner. */
static void only_certificates_of_authorities_may_be_read_by_others(void **state)
{
    char key[340];

    (void)state;
    snprintf(key, sizeof key, "%s/ca.key", files.ca);
    assert_int_equal(mode_of(files.ca), 0700);
    assert_int_equal(mode_of(files.ca_pem), 0644);
    assert_int_equal(mode_of(key), 0600);
    assert_int_equal(mode_of(files.good), 0600);
    assert_int_equal(mode_of(files.peer), 0600);
}

static void unfit(const char *url, const char *ca, const char *cert, bool listens, enum err expected, const char *words)
{
    const struct tls_files tls = {ca, cert};
    struct why why = {""};
    const enum err e = tls_check(url, &tls, listens, &why);

    if (e != expected || !strstr(why.text, words))
        fail_msg("%s, '%s', expected %s and '%s'", err_name(e), why.text, err_name(expected), words);
}

/* Whoever else may read it, write it or run it: group and all. */
static void a_private_key_that_others_may_use_is_refused(void **state)
{
    static const struct {
        mode_t mode;
        bool is_private;
    } cases[] = {{0600, true},  {0400, true},  {0700, true},  {0640, false}, {0620, false}, {0610, false},
                 {0604, false}, {0602, false}, {0601, false}, {0644, false}, {0660, false}};
    static const char url[] = "tls+tcp://127.0.0.1:1";

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tls_files peer = {files.ca_pem, files.peer}, tracker = {NULL, files.good};
        struct why why = {""};
        enum err e;

        assert_int_equal(chmod(files.peer, cases[i].mode), 0);
        assert_int_equal(chmod(files.good, cases[i].mode), 0);
        for (int listens = 0; listens < 2; listens++) {
            e = tls_check(url, listens ? &tracker : &peer, listens, &why);
            if (e != (cases[i].is_private ? ERR_OK : ERR_AUTH) ||
                (e && !strstr(why.text, "may be read by others: expected mode 0600")))
                fail_msg("%o: %s, '%s'", cases[i].mode, err_name(e), why.text);
        }
    }
    chmod(files.peer, 0600);
    chmod(files.good, 0600);
}

/* Of one's own and of the authority, where it is one: of a list those that serve nobody may be old. */
static void certificates_have_their_days(void **state)
{
    const int64_t now = clock_wall_ms() / 1000;
    const struct cert_order past = {.name = "past", .from_s = now - 2 * DAY_S, .until_s = now - DAY_S};
    static const char url[] = "tls+tcp://127.0.0.1:1";
    char dir[300], past_pem[320], list[320];
    struct buf text;

    (void)state;
    snprintf(dir, sizeof dir, "%s/past", files.dir);
    snprintf(past_pem, sizeof past_pem, "%s/ca.pem", dir);
    snprintf(list, sizeof list, "%s/list.pem", files.dir);
    assert_int_equal(certs_make_ca(dir, &past, NULL), ERR_OK);
    issue(files.old, "old", files.ca, "127.0.0.1", now - 2 * DAY_S, now - DAY_S);
    unfit(url, NULL, files.old, true, ERR_AUTH, "the certificate in --cert expired on 20");
    unfit(url, NULL, files.early, true, ERR_AUTH, "the certificate in --cert is not valid before 20");
    unfit(url, past_pem, NULL, false, ERR_AUTH, "the authority's certificate in --ca expired on 20");
    buf_init(&text, 1 << 16);
    assert_int_equal(file_read(past_pem, &text, NULL), ERR_OK);
    assert_int_equal(file_read(files.ca_pem, &text, NULL), ERR_OK);
    assert_int_equal(file_replace(list, text.data, text.len, 0644, NULL), ERR_OK);
    assert_int_equal(tls_check(url, &(struct tls_files){.ca = list}, false, NULL), ERR_OK);
    buf_fini(&text);
}

static void files_are_looked_at_before_anybody_is_dialled(void **state)
{
    static const char url[] = "tls+tcp://127.0.0.1:1", plain[] = "tcp://127.0.0.1:1";
    char half[320];
    struct why why;

    (void)state;
    unfit(url, NULL, NULL, false, ERR_INPUT, "wants --ca FILE");
    unfit(url, NULL, NULL, true, ERR_INPUT, "wants --cert FILE");
    unfit(plain, files.ca_pem, NULL, false, ERR_INPUT, "expected tls+tcp://127.0.0.1:1");
    unfit(plain, NULL, files.good, true, ERR_INPUT, "expected tls+tcp://127.0.0.1:1");
    unfit(url, "/nowhere/ca.pem", NULL, false, ERR_NOT_FOUND, "/nowhere/ca.pem");
    snprintf(half, sizeof half, "%s/half", files.dir);
    assert_int_equal(file_replace(half, "-----BEGIN CERTIFICATE-----\nMIIB\n", 33, 0600, &why), ERR_OK);
    unfit(url, half, NULL, false, ERR_INPUT, "expected certificates as PEM");
    unfit(url, NULL, strcpy(half, files.ca_pem), true, ERR_AUTH, "may be read by others");
    chmod(files.ca_pem, 0600);
    unfit(url, NULL, files.ca_pem, true, ERR_INPUT, "expected the certificate's private key");
    unfit(url, NULL, files.peer, true, ERR_INPUT, "is no tracker's: expected one made with --host");
    unfit(url, files.ca_pem, files.good, false, ERR_INPUT, "is a tracker's: expected one made with --agent, --user");
    assert_int_equal(tls_check(url, &(struct tls_files){files.ca_pem, files.peer}, false, &why), ERR_OK);
    assert_int_equal(tls_check(plain, &(struct tls_files){"", NULL}, false, &why), ERR_OK);
}

static void copy(const char *from_dir, const char *to_dir, const char *name)
{
    char from[320], to[320];
    struct buf text;

    snprintf(from, sizeof from, "%s/%s", from_dir, name);
    snprintf(to, sizeof to, "%s/%s", to_dir, name);
    buf_init(&text, 1 << 16);
    assert_int_equal(file_read(from, &text, NULL), ERR_OK);
    assert_int_equal(file_replace(to, text.data, text.len, 0600, NULL), ERR_OK);
    buf_fini(&text);
}

static void an_authority_with_the_key_of_another_is_none(void **state)
{
    const int64_t now = clock_wall_ms() / 1000;
    const struct cert_order o = {.name = "x", .from_s = now, .until_s = now + DAY_S};
    char mixed[300], path[320];
    struct why why = {""};

    (void)state;
    snprintf(mixed, sizeof mixed, "%s/mixed", files.dir);
    snprintf(path, sizeof path, "%s/of-mixed", files.dir);
    assert_int_equal(dir_make(mixed, 0700, NULL), ERR_OK);
    copy(files.ca, mixed, "ca.pem");
    copy(files.other_ca, mixed, "ca.key");
    assert_int_equal(certs_issue(mixed, &o, path, &why), ERR_INPUT);
    copy(files.ca, mixed, "ca.key");
    assert_int_equal(certs_issue(mixed, &o, path, &why), ERR_OK);
}

static void an_authority_is_made_once_and_names_have_to_be_some(void **state)
{
    const int64_t now = clock_wall_ms() / 1000;
    struct cert_order o = {.name = "x", .from_s = now, .until_s = now + DAY_S};
    char path[320];
    struct why why = {""};

    (void)state;
    snprintf(path, sizeof path, "%s/fresh", files.dir);
    assert_int_equal(certs_make_ca(files.ca, &o, &why), ERR_EXISTS);
    assert_int_equal(certs_issue(files.ca, &o, files.good, &why), ERR_EXISTS);
    assert_int_equal(certs_issue("/nowhere", &o, path, &why), ERR_INPUT);
    o.hosts = "";
    assert_int_equal(certs_issue(files.ca, &o, path, &why), ERR_INPUT);
    o.hosts = NULL;
    o.name = "no,name=at all";
    assert_int_equal(certs_issue(files.ca, &o, path, &why), ERR_INPUT);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_certificates_of_authorities_may_be_read_by_others),
        cmocka_unit_test(a_private_key_that_others_may_use_is_refused),
        cmocka_unit_test(certificates_have_their_days),
        cmocka_unit_test(files_are_looked_at_before_anybody_is_dialled),
        cmocka_unit_test(an_authority_with_the_key_of_another_is_none),
        cmocka_unit_test(an_authority_is_made_once_and_names_have_to_be_some),
    };

    umask(022);
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
