/* Seeded bugs: five mutants of each template's text are all called wrong by the check that the farm uses. */
#include "core/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/kernels/cases.h"
#include "tests/kernels/run_device.h"

static struct devices_under_test under;
static struct part part;

/* Where a template's own text begins, behind the preamble. */
static const char *own_text(const struct blob *text)
{
    static const char mark[] = "#line 1\n";
    const char *at = memmem(text->data, text->n_bytes, mark, sizeof mark - 1);

    return at ? at : (const char *)text->data;
}

/* Replaces every `from` of the template's own text by `to`; false when there is none. */
static bool patch_text(const struct blob *text, const struct mutant *m, struct buf *out)
{
    const char *at = own_text(text), *end = (const char *)text->data + text->n_bytes, *hit;
    bool found = false;

    buf_append(out, text->data, (size_t)(at - (const char *)text->data));
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

/* What the check says of one config of the mutant; ERR_NOT_FOUND: the text has nothing to patch. */
static enum err verify_mutant(const struct mutant *m, int i_device, const struct template *t, const struct workload *w,
                              const struct space *s, const struct config *c, struct why *why)
{
    struct program p;
    struct blobs blobs;
    struct buf text;
    enum err e;

    buf_init(&text, (size_t)1 << 20);
    blobs_init(&blobs, (size_t)1 << 28);
    e = template_program(t, w, under.ops->describe(under.list[i_device]), s, c, &p, &blobs, why);
    if (!e && !patch_text(blobs_get(&blobs, p.modules[0].source.hex), m, &text))
        e = why_set(why, ERR_NOT_FOUND, "no \"%s\" to patch", m->from);
    if (!e)
        e = blobs_put(&blobs, buf_text(&text), text.len, &p.modules[0].source);
    if (!e)
        e = load_and_verify(under.ops, under.list[i_device], &p, &blobs, why);
    if (e == ERR_DEVICE)
        lose_device(&under, i_device);
    program_fini(&p);
    blobs_fini(&blobs);
    buf_fini(&text);
    return e;
}

/* The default config for OpenCL. GPUs' defaults may do without the code that has the bug, or have no y in the kernel
 * where it is put (parts of sums are written elsewhere): others then, and one of them must be called wrong. */
static enum err run_configs(const struct mutant *m, int i_device, const struct template *t, const struct workload *w,
                            const struct space *s, struct why *why)
{
    const int n_random = strcmp(under.ops->name, "cuda") == 0 ? 8 : 0;
    struct config c;
    struct rng rng;
    enum err e = t->fallback(w, under.ops->describe(under.list[i_device]), s, &c);

    rng_init(&rng, 1);
    if (!e)
        e = verify_mutant(m, i_device, t, w, s, &c, why);
    for (int i = 0; (!e || e == ERR_COMPILE) && i < n_random && !space_sample(s, &rng, 1000000, &c); i++)
        e = verify_mutant(m, i_device, t, w, s, &c, why);
    return e;
}

/* False (and words on stdout) when the bug is not found. */
static bool run_mutant(const struct mutant *m, int i_device)
{
    const struct template *t = template_find(m->template_id);
    const struct device_desc *d;
    struct workload w;
    struct space *s = NULL;
    struct why why = {""};
    enum err e;

    assert_non_null(t);
    want_device(&under, i_device);
    d = under.ops->describe(under.list[i_device]);
    assert_int_equal(workload_parse(m->workload, &w, &why), ERR_OK);
    if (t->fit(&w, d, NULL) == FIT_NONE) /* of CUDA alone, say: found there */
        return true;
    e = template_space(t, &w, d, &s, &why);
    if (!e)
        e = run_configs(m, i_device, t, &w, s, &why);
    space_free(s);
    if (!is_found(e))
        printf("FAILED on %s: %s, %s: %s (%s), expected a wrong answer\n", d->name, m->template_id, m->name,
               err_words(e), why.text);
    return is_found(e);
}

/* ---- processes: a mutant may write anywhere, so the device runs in a child, as it does in the farm ---- */

#define TELL_FD                                                                                                        \
    3 /* the child's: "n\n" before the n-th mutant of its part, "missed\n" behind one that was not found               \
       */

static const char *self, *part_text;

/* The mutants of the part from the n-th on. */
static int run_from(unsigned long first)
{
    unsigned long n = 0;
    int turn = 0;

    if (!open_devices(BACKEND, &under))
        return 77;
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const struct mutant *m = (*cases)->mutants; m->template_id; m++, turn++) {
            if (!is_wanted(m->template_id) || !part_has_next(&part) || n++ < first)
                continue;
            dprintf(TELL_FD, "%lu\n", n - 1);
            if (!run_mutant(m, turn % under.n))
                dprintf(TELL_FD, "missed\n");
            fflush(stdout);
        }
    close_devices(&under);
    return 0;
}

static pid_t start_child(unsigned long first, FILE **told)
{
    char first_text[24];
    int ends[2];
    pid_t pid;

    snprintf(first_text, sizeof first_text, "%lu", first);
    assert_int_equal(pipe(ends), 0);
    pid = fork(); /* this process has no device and no threads */
    assert_true(pid >= 0);
    if (pid == 0) {
        if (ends[1] != TELL_FD)
            dup2(ends[1], TELL_FD);
        execl(self, self, part_text, first_text, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *told = fdopen(ends[0], "r");
    assert_non_null(*told);
    return pid;
}

/* One child to its end; *at: the mutant it was at, *n_missed grows. Its wait status. */
static int run_child(unsigned long first, unsigned long *at, int *n_missed)
{
    char line[32];
    FILE *told;
    const pid_t pid = start_child(first, &told);
    int status = -1;

    while (fgets(line, sizeof line, told)) {
        if (strcmp(line, "missed\n") == 0)
            ++*n_missed;
        else
            *at = strtoul(line, NULL, 10);
    }
    fclose(told);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* A child that dies: its mutant once more in a fresh one, for an earlier one may have spoilt the memory; dies again:
 * the mutant did it, which no farm would take for a right answer. */
static void every_mutant_is_called_wrong(void **state)
{
    unsigned long first = 0, at = 0;
    int n_missed = 0, status;

    (void)state;
    while (status = run_child(first, &at, &n_missed), WIFSIGNALED(status)) {
        printf("mutant %lu of part %s: the process died of signal %d\n", at, part_text, WTERMSIG(status));
        assert_true(at >= first);
        first = at == first ? at + 1 : at;
    }
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(n_missed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mutant_is_called_wrong)};

    part = part_of(argc, argv);
    if (argc > 2)
        return run_from(strtoul(argv[2], NULL, 10));
    self = argv[0];
    part_text = argc > 1 ? argv[1] : "0/1";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
