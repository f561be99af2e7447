/* SPDX-License-Identifier: MIT */
/* test_hub.c - places and credentials of hubs; the servers are in http.sh and s3.sh. */
#include "core/file.h"
#include "logs/hub/credentials.h"
#include "logs/hub/hub.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void clean(void)
{
    static const char *const names[] = {"AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_S3",
                                        "AWS_REGION",
                                        "AWS_DEFAULT_REGION",
                                        "AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AWS_PROFILE",
                                        "TUNE_HUB_TOKEN",
                                        "TUNE_HUB_USER",
                                        "TUNE_HUB_PASSWORD",
                                        "TUNE_HUB_NETRC",
                                        "AWS_SHARED_CREDENTIALS_FILE"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("HOME", "/nonexistent", 1);
}

static void urls_become_what_is_asked_for(void **state)
{
    static const char *const cases[][2] = {
        {"http://h/a/b.jsonl", "http://h/a/b.jsonl"},
        {"https://h:8443", "https://h:8443/"},
        {"http://h/a b+c", "http://h/a%20b+c"},
        {"http://h/a%20b", "http://h/a%20b"},
        {"http://h/A~z-0_9.x/", "http://h/A~z-0_9.x/"},
        {"http://h/a:b@c!d$e&f'g(h)i*j,k;l=m", "http://h/a:b@c!d$e&f'g(h)i*j,k;l=m"},
        {"http://h/\"<>[]^`{|}", "http://h/%22%3C%3E%5B%5D%5E%60%7B%7C%7D"},
        {"s3://bucket/A~z-0_9.x/!$&'()*,;=:@", "https://s3.us-east-1.amazonaws.com/bucket/A~z-0_9.x/"
                                               "%21%24%26%27%28%29%2A%2C%3B%3D%3A%40"},
        {"s3://bucket/k/a b+c%20.jsonl", "https://s3.us-east-1.amazonaws.com/bucket/k/a%20b%2Bc%2520.jsonl"},
        {"s3://bucket", "https://s3.us-east-1.amazonaws.com/bucket/"},
        {"s3://bucket/..a/b../...", "https://s3.us-east-1.amazonaws.com/bucket/..a/b../..."},
    };
    struct hub_url u;
    struct why why = {""};

    (void)state;
    clean();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(hub_url_parse(cases[i][0], &u, &why), ERR_OK);
        assert_string_equal(u.http, cases[i][1]);
        assert_string_equal(u.text, cases[i][0]);
    }
    setenv("AWS_ENDPOINT_URL", "http://minio:9000/", 1);
    assert_int_equal(hub_url_parse("s3://b/k", &u, &why), ERR_OK);
    assert_string_equal(u.http, "http://minio:9000/b/k");
    assert_string_equal(u.origin, "http://minio:9000/b");
    clean();
}

static void bad_urls_are_refused(void **state)
{
    static const char *const cases[] = {"",
                                        "h/a",
                                        "ftp://h/a",
                                        "file:///etc/passwd",
                                        "http://",
                                        "http:///a",
                                        "s3://",
                                        "s3:///key",
                                        "s3://bu cket/key",
                                        "s3://b/../other/k",
                                        "s3://b/k/..",
                                        "s3://b/k/./l",
                                        "http://user:secret@h/a",
                                        "https://user@h/a",
                                        "http://h/a?x=1",
                                        "http://h/a#x",
                                        "http://h/a\nb",
                                        "http://a b/x",
                                        "http://h/\x7f"};
    static char text[HUB_MAX_URL + 10];
    struct hub_url u;

    (void)state;
    clean();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct why why = {""};

        if (hub_url_parse(cases[i], &u, &why) == ERR_OK)
            fail_msg("taken: %s", cases[i]);
        assert_true(*why.text);
        assert_null(strstr(why.text, "secret"));
    }
    memset(text, 'a', sizeof text - 1);
    memcpy(text, "http://h/", 9);
    assert_int_equal(hub_url_parse(text, &u, NULL), ERR_LIMIT);
    memset(text + 9, ' ', 1500); /* grows by encoding */
    text[1509] = '\0';
    assert_int_equal(hub_url_parse(text, &u, NULL), ERR_LIMIT);
}

static void names_below_a_folder_are_encoded(void **state)
{
    struct hub_url folder, u;

    (void)state;
    clean();
    assert_int_equal(hub_url_parse("http://h/b", &folder, NULL), ERR_OK);
    assert_int_equal(hub_url_below(&folder, "k/a %b?#.cl", &u, NULL), ERR_OK);
    assert_string_equal(u.http, "http://h/b/k/a%20%25b%3F%23.cl");
    assert_int_equal(hub_url_parse("s3://b/p/", &folder, NULL), ERR_OK);
    assert_int_equal(hub_url_below(&folder, "a%b", &u, NULL), ERR_OK);
    assert_string_equal(u.key, "p/a%b");
}

static void write_file(const char *path, const char *text, unsigned mode)
{
    assert_int_equal(file_replace(path, text, strlen(text), mode, NULL), ERR_OK);
    assert_int_equal(chmod(path, mode), 0);
}

static void credentials_come_from_variables_or_private_files(void **state)
{
    static const char text[] = "[default]\naws_access_key_id=AD\naws_secret_access_key=SD\n\n# "
                               "note\n[farm]\n#aws_access_key_id = C1\n;aws_secret_access_key = C2\n"
                               "aws_access_key_id = AF \r\n  # aws_session_token = C3\naws_secret_access_key = "
                               "S/F+=\naws_session_token = TOK\n[x]\n"
                               "aws_access_key_id = no\n";
    char dir[PATH_MAX - 64], path[PATH_MAX];
    struct credentials c;
    struct why why = {""};

    (void)state;
    clean();
    assert_int_equal(credentials_read(&c, &why), ERR_OK);
    assert_string_equal(c.access_key, "");
    assert_string_equal(c.region, "us-east-1");
    assert_int_equal(dir_temporary("test-hub", dir, sizeof dir, &why), ERR_OK);
    snprintf(path, sizeof path, "%s/credentials", dir);
    write_file(path, text, 0600);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    assert_int_equal(credentials_read(&c, &why), ERR_OK);
    assert_string_equal(c.access_key, "AD");
    assert_string_equal(c.session, "");
    setenv("AWS_PROFILE", "farm", 1);
    assert_int_equal(credentials_read(&c, &why), ERR_OK);
    assert_string_equal(c.access_key, "AF");
    assert_string_equal(c.secret_key, "S/F+=");
    assert_string_equal(c.session, "TOK");
    write_file(path, text, 0640);
    assert_int_equal(credentials_read(&c, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "others may read it"));
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/x", 1);
    assert_int_equal(credentials_read(&c, &why), ERR_NOT_FOUND);
    setenv("AWS_ACCESS_KEY_ID", "A", 1);
    assert_int_equal(credentials_read(&c, &why), ERR_INPUT);
    setenv("AWS_SECRET_ACCESS_KEY", "S\nX: y", 1);
    assert_int_equal(credentials_read(&c, &why), ERR_INPUT);
    assert_null(strstr(why.text, "X: y"));
    setenv("AWS_SECRET_ACCESS_KEY", "S", 1);
    assert_int_equal(credentials_read(&c, &why), ERR_OK);
    assert_string_equal(c.region, "us-east-1");
    setenv("AWS_DEFAULT_REGION", "eu-1", 1);
    assert_int_equal(credentials_read(&c, &why), ERR_OK);
    assert_string_equal(c.region, "eu-1");
    setenv("AWS_REGION", "eu-2", 1);
    setenv("TUNE_HUB_TOKEN", "token", 1);
    setenv("TUNE_HUB_USER", "user", 1);
    setenv("TUNE_HUB_PASSWORD", "pass", 1);
    write_file(path, "machine h login x password y\n", 0604);
    setenv("TUNE_HUB_NETRC", path, 1);
    assert_int_equal(credentials_read(&c, &why), ERR_INPUT);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(credentials_read(&c, &why), ERR_OK);
    assert_string_equal(c.region, "eu-2");
    assert_string_equal(c.token, "token");
    assert_string_equal(c.user, "user");
    assert_string_equal(c.password, "pass");
    assert_string_equal(c.netrc, path);
    assert_string_equal(c.access_key, "A");
    assert_string_equal(c.secret_key, "S");
    credentials_forget(&c);
    for (size_t i = 0; i < sizeof c; i++)
        assert_int_equal(((const char *)&c)[i], 0);
    dir_remove(dir);
    clean();
}

static void endpoints_and_regions_come_from_the_environment(void **state)
{
    struct hub_url u;

    (void)state;
    clean();
    setenv("AWS_DEFAULT_REGION", "eu-1", 1);
    assert_int_equal(hub_url_parse("s3://b/k", &u, NULL), ERR_OK);
    assert_string_equal(u.http, "https://s3.eu-1.amazonaws.com/b/k");
    setenv("AWS_REGION", "eu-2", 1);
    assert_int_equal(hub_url_parse("s3://b/k", &u, NULL), ERR_OK);
    assert_string_equal(u.origin, "https://s3.eu-2.amazonaws.com/b");
    setenv("AWS_ENDPOINT_URL", "https://one:1", 1);
    setenv("AWS_ENDPOINT_URL_S3", "https://two:2///", 1);
    assert_int_equal(hub_url_parse("s3://b.c-d_e/k?#", &u, NULL), ERR_OK);
    assert_string_equal(u.http, "https://two:2/b.c-d_e/k%3F%23");
    assert_true(u.s3);
    assert_string_equal(u.key, "k?#");
    unsetenv("AWS_ENDPOINT_URL_S3");
    setenv("AWS_ENDPOINT_URL", "one:1", 1);
    assert_int_equal(hub_url_parse("s3://b/k", &u, NULL), ERR_INPUT);
    setenv("AWS_ENDPOINT_URL", "https://user@one", 1);
    assert_int_equal(hub_url_parse("s3://b/k", &u, NULL), ERR_INPUT);
    clean();
}

static void an_at_sign_of_the_path_is_no_password(void **state)
{
    struct hub_url u;

    (void)state;
    clean();
    assert_int_equal(hub_url_parse("http://h/a@b", &u, NULL), ERR_OK);
    assert_string_equal(u.http, "http://h/a@b");
    assert_false(u.s3);
    assert_int_equal(hub_url_parse("http://h/\xc3\xa4", &u, NULL), ERR_OK);
    assert_string_equal(u.http, "http://h/%C3%A4");
    assert_int_equal(hub_url_below(&u, "x", &u, NULL), ERR_OK);
    assert_string_equal(u.text, "http://h/\xc3\xa4/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_become_what_is_asked_for),
        cmocka_unit_test(bad_urls_are_refused),
        cmocka_unit_test(names_below_a_folder_are_encoded),
        cmocka_unit_test(credentials_come_from_variables_or_private_files),
        cmocka_unit_test(endpoints_and_regions_come_from_the_environment),
        cmocka_unit_test(an_at_sign_of_the_path_is_no_password),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
