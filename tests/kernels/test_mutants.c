/* Seeded bugs: five mutants of each template's text are all called wrong by the check that the farm uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/cases.h"
#include "tests/kernels/run_device.h"

static struct devices_under_test under;
static struct part part;

/* Replaces every `from` by `to`; false when there is none. */
static bool patch_text(const struct blob *text, const struct mutant *m, struct buf *out)
{
    const char *at = (const char *)text->data, *end = at + text->n_bytes, *hit;
    bool found = false;

    while ((hit = memmem(at, (size_t)(end - at), m->from, strlen(m->from)))) {
        buf_append(out, at, (size_t)(hit - at));
        buf_puts(out, m->to);
        at = hit + strlen(m->from);
        found = true;
    }
    buf_append(out, at, (size_t)(end - at));
    return found;
}

/* A wrong answer; a device that finds an access out of bounds may say that. */
static bool is_found(enum err e)
{
    return e == ERR_WRONG || (e == ERR_DEVICE && strcmp(under.ops->name, "cuda") == 0);
}

static void run_mutant(const struct mutant *m, int i_device)
{
    const struct device_desc *d = under.ops->describe(under.list[i_device]);
    const struct template *t = template_find(m->template_id);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct program p;
    struct blobs blobs;
    struct buf text;
    struct why why = {""};
    enum err e;

    assert_non_null(t);
    buf_init(&text, (size_t)1 << 20);
    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(workload_parse(m->workload, &w, &why), ERR_OK);
    if (t->fit(&w, d, NULL) == FIT_NONE) /* of CUDA alone, say: found there */
        return;
    assert_int_equal(template_space(t, &w, d, &s, &why), ERR_OK);
    assert_int_equal(t->fallback(&w, d, s, &c), ERR_OK);
    assert_int_equal(template_program(t, &w, d, s, &c, &p, &blobs, &why), ERR_OK);
    if (!patch_text(blobs_get(&blobs, p.modules[0].source.hex), m, &text))
        fail_msg("%s has no \"%s\" to patch", m->template_id, m->from);
    assert_int_equal(blobs_put(&blobs, buf_text(&text), text.len, &p.modules[0].source), ERR_OK);
    e = load_and_verify(under.ops, under.list[i_device], &p, &blobs, &why);
    if (e == ERR_DEVICE)
        reopen_device(&under, i_device);
    if (!is_found(e))
        fail_msg("%s, %s: %s (%s), expected a wrong answer", m->template_id, m->name, err_words(e), why.text);
    program_fini(&p);
    blobs_fini(&blobs);
    buf_fini(&text);
    space_free(s);
}

static void every_mutant_is_called_wrong(void **state)
{
    int turn = 0;

    (void)state;
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const struct mutant *m = (*cases)->mutants; m->template_id; m++, turn++)
            if (is_wanted(m->template_id) && part_has_next(&part))
                run_mutant(m, turn % under.n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mutant_is_called_wrong)};
    int failed;

    part = part_of(argc, argv);
    if (!open_devices(BACKEND, &under))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    close_devices(&under);
    return failed;
}
