/* SPDX-License-Identifier: MIT */
/* Feeds places of logs, and files of credentials, to hub's readers. A place that is taken names no user and no query,
 * and a name below it is below it. */
#include "logs/hub/credentials.h"
#include "logs/hub/hub.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void try_place(const char *text)
{
    struct hub_url u, file;
    struct why why = {""};

    if (hub_url_parse(text, &u, &why) != ERR_OK) {
        fuzz_check_words("place", why.text);
        return;
    }
    if (strpbrk(u.http, " ?#\n"))
        fuzz_die("'%s' asks for '%s'", text, u.http);
    if (hub_url_below(&u, "x y.jsonl", &file, &why) == ERR_OK && strncmp(file.http, u.http, strlen(u.http) - 1) != 0)
        fuzz_die("'%s' is not below '%s'", file.http, u.http);
}

static void try_credentials(const uint8_t *data, size_t n)
{
    struct credentials *c = calloc(1, sizeof *c);
    struct why why = {""};

    setenv("AWS_SHARED_CREDENTIALS_FILE", fuzz_file(data, n), 1);
    if (!c)
        fuzz_die("out of memory");
    if (credentials_read(c, &why) != ERR_OK)
        fuzz_check_words("credentials", why.text);
    else if (!c->access_key[0] != !c->secret_key[0])
        fuzz_die("half a pair was taken");
    credentials_forget(c);
    free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);

    try_place(text);
    try_credentials(data, n);
    free(text);
    return 0;
}
