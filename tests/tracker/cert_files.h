/* SPDX-License-Identifier: MIT */
/* cert_files.h - two authorities, and certificates of 127.0.0.1 and of others, in a folder of a test's own. Behind
 * cmocka.h. */
#ifndef TUNE_TESTS_TRACKER_CERT_FILES_H
#define TUNE_TESTS_TRACKER_CERT_FILES_H

#include "core/clock.h"
#include "core/file.h"
#include "tracker/certs.h"

#include <stdio.h>

#define DAY_S 86400

static struct {
    char dir[256], ca[300], ca_pem[320], other_ca[300], other_pem[320], good[320], old[320], early[320], elsewhere[320],
        peer[320], foreign[320];
} files;

static inline void issue(char path[320], const char *name, const char *ca, const char *hosts, int64_t from_s,
                         int64_t until_s)
{
    const struct cert_order o = {.name = "x", .hosts = hosts, .from_s = from_s, .until_s = until_s};
    struct why why = {""};

    snprintf(path, 320, "%s/%s", files.dir, name);
    if (certs_issue(ca, &o, path, &why) != ERR_OK)
        fail_msg("%s", why.text);
}

static inline int make_files(void **state)
{
    const int64_t now = clock_wall_ms() / 1000;
    const struct cert_order ca = {.name = "first", .from_s = now - DAY_S, .until_s = now + DAY_S},
                            other = {.name = "second", .from_s = now - DAY_S, .until_s = now + DAY_S};
    struct why why = {""};

    (void)state;
    assert_int_equal(dir_temporary("tune-tls", files.dir, sizeof files.dir, &why), ERR_OK);
    snprintf(files.ca, sizeof files.ca, "%s/ca", files.dir);
    snprintf(files.other_ca, sizeof files.other_ca, "%s/other", files.dir);
    assert_int_equal(certs_make_ca(files.ca, &ca, &why), ERR_OK);
    assert_int_equal(certs_make_ca(files.other_ca, &other, &why), ERR_OK);
    snprintf(files.ca_pem, sizeof files.ca_pem, "%s/ca.pem", files.ca);
    snprintf(files.other_pem, sizeof files.other_pem, "%s/ca.pem", files.other_ca);
    issue(files.good, "good", files.ca, "127.0.0.1,localhost", now - DAY_S, now + DAY_S);
    issue(files.early, "early", files.ca, "127.0.0.1", now + DAY_S, now + 2 * DAY_S);
    issue(files.elsewhere, "elsewhere", files.ca, "farm.example,10.9.8.7", now - DAY_S, now + DAY_S);
    issue(files.peer, "peer", files.ca, NULL, now - DAY_S, now + DAY_S);
    issue(files.foreign, "foreign", files.other_ca, NULL, now - DAY_S, now + DAY_S);
    return 0;
}

static inline int remove_files(void **state)
{
    (void)state;
    dir_remove(files.dir);
    return 0;
}

#endif
