/* What the documents and the help list is what there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kernels/network.h"
#include "tests/tuner/shell.h"

static char dir[256];

static void read_doc(const char *name, struct buf *out)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", TUNE_DOCS_DIR, name);
    buf_clear(out);
    assert_int_equal(file_read(path, out, NULL), ERR_OK);
}

/* Does the text have the word, with no letter, digit or dash on either side? */
static bool has_word(const char *text, const char *word)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const size_t n = strlen(word);

    for (const char *p = text; (p = strstr(p, word)) != NULL; p++)
        if ((p == text || !strchr(inside, p[-1])) && (!p[n] || !strchr(inside, p[n])))
            return true;
    return false;
}

static void the_keys_in_the_docs_are_those_of_the_operators(void **state)
{
    static const char *const args[] = {"spaces", "--keys", NULL};
    struct buf said, doc;

    (void)state;
    buf_init(&said, 1 << 20);
    buf_init(&doc, 1 << 20);
    assert_int_equal(tune_run(dir, args, &said), 0);
    read_doc("operators.md", &doc);
    if (said.len < 1000 || !strstr(buf_text(&doc), buf_text(&said)))
        fail_msg("docs/operators.md: expected its last tables to be what tune spaces --keys says");
    buf_fini(&said);
    buf_fini(&doc);
}

static void every_network_is_listed(void **state)
{
    static const char *const helps[][3] = {{"run", "--help", NULL}, {"submit", "--help", NULL}};
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < 3; i++) {
        if (i < 2)
            assert_int_equal(tune_run(dir, helps[i], &text), 0);
        else
            read_doc("tune.md", &text);
        for (const char *const *name = network_names(); *name; name++)
            if (!has_word(buf_text(&text), *name))
                fail_msg("network %s is not in %s", *name, i < 2 ? helps[i][0] : "docs/tune.md");
    }
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keys_in_the_docs_are_those_of_the_operators),
        cmocka_unit_test(every_network_is_listed),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
