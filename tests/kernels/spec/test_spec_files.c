/* SPDX-License-Identifier: MIT */
/* A job's texts: what they include, and what functions of C get behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/kernels/spec/opened.h"

#include <unistd.h>

static void includes_travel_with_the_kernel(void **state)
{
    char path[512], text[512];
    struct blobs files;
    struct buf closed;
    struct why why = {""};
    bool found = false;

    (void)state;
    job_write(dir, NULL, path);
    snprintf(text, sizeof text, "%s/scale.cl", dir);
    file_replace(text, "#include \"part.h\"\n#include <x.h>\nint last;\n", 42, 0644, NULL);
    snprintf(text, sizeof text, "%s/part.h", dir);
    file_replace(text, "int part;\n", 10, 0644, NULL);
    blobs_init(&files, 1 << 20);
    buf_init(&closed, SPEC_MAX_BYTES);
    assert_int_equal(spec_load(path, &closed, &files, &why), ERR_OK);
    for (size_t i = 0; i < files.n; i++)
        found |= memmem(files.items[i].data, files.items[i].n_bytes, "int part;", 9) &&
                 memmem(files.items[i].data, files.items[i].n_bytes, "<x.h>", 5) &&
                 !memmem(files.items[i].data, files.items[i].n_bytes, "part.h", 6);
    assert_true(found);
    file_replace(text, "#include \"part.h\"\n", 18, 0644, NULL);
    buf_clear(&closed);
    assert_int_equal(spec_load(path, &closed, &files, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "cyclic"));
    buf_fini(&closed);
    blobs_fini(&files);
}

/* A text from elsewhere would else have any file of its reader sent to a tracker. */
static void includes_stay_in_the_jobs_folders(void **state)
{
    static const char *const outside[] = {"../outside.h", "/etc/passwd", "link.h"};
    char folder[300], path[512], text[512], other[600];
    struct why why;

    (void)state;
    snprintf(folder, sizeof folder, "%s/inner", dir);
    dir_make(folder, 0700, NULL);
    snprintf(text, sizeof text, "%s/outside.h", dir);
    file_replace(text, "int outside;\n", 13, 0644, NULL);
    snprintf(other, sizeof other, "%s/link.h", folder);
    assert_int_equal(symlink("../outside.h", other), 0);
    for (int i = 0; i < 3; i++) {
        struct blobs files;
        struct buf closed;
        enum err e;

        job_write(folder, NULL, path);
        snprintf(other, sizeof other, "%s/scale.cl", folder);
        snprintf(text, sizeof text, "#include \"%s\"\n", outside[i]);
        file_replace(other, text, strlen(text), 0644, NULL);
        blobs_init(&files, 1 << 20);
        buf_init(&closed, SPEC_MAX_BYTES);
        why.text[0] = '\0';
        e = spec_load(path, &closed, &files, &why);
        if (e != ERR_INPUT || !strstr(why.text, "leads out of the folders of the job"))
            fail_msg("%s: %s '%s'", outside[i], err_name(e), why.text);
        buf_fini(&closed);
        blobs_fini(&files);
    }
}

static void a_header_that_is_to_be_there_once_is(void **state)
{
    static const char first[] = "#include \"a.h\"\n#include \"b.h\"\n", a[] = "# pragma once\nint once;\n",
                      b[] = "#include \"a.h\"\nint b;\n";
    char path[512], text[512];
    struct blobs files;
    struct buf closed;
    struct why why = {""};
    int found = 0;

    (void)state;
    job_write(dir, NULL, path);
    snprintf(text, sizeof text, "%s/scale.cl", dir);
    file_replace(text, first, strlen(first), 0644, NULL);
    snprintf(text, sizeof text, "%s/a.h", dir);
    file_replace(text, a, strlen(a), 0644, NULL);
    snprintf(text, sizeof text, "%s/b.h", dir);
    file_replace(text, b, strlen(b), 0644, NULL);
    blobs_init(&files, 1 << 20);
    buf_init(&closed, SPEC_MAX_BYTES);
    assert_int_equal(spec_load(path, &closed, &files, &why), ERR_OK);
    for (size_t i = 0; i < files.n; i++)
        for (const char *at = (const char *)files.items[i].data, *end = at + files.items[i].n_bytes;
             (at = memmem(at, (size_t)(end - at), "int once;", 9)); at++)
            found++;
    assert_int_equal(found, 1);
    buf_fini(&closed);
    blobs_fini(&files);
}

/* As a preprocessor sees it: a.h is b.h's and its own in turn, and ends where its guard does. */
static void headers_with_guards_may_include_each_other(void **state)
{
    static const char first[] = "#include \"a.h\"\nint last;\n",
                      a[] = "/* a # */ // b\n#ifndef A_H\n#define A_H\n#include \"b.h\"\nint a;\n#endif\n",
                      b[] = "#ifndef B_H\n#define B_H\n#include \"../%s/a.h\"\nint b;\n#endif\n",
                      once[] = "#define B_H\n\n\nint b;\n#endif\n\nint a;\n#endif\n\nint last;",
                      *const loose[] = {"#ifndef A_H\n#define B_H\n#include \"a.h\"\n#endif\n",
                                        "int early;\n#ifndef A_H\n#define A_H\n#include \"a.h\"\n#endif\n"};
    char path[512], text[512], back[600];
    struct blobs files;
    struct buf closed;
    struct why why = {""};
    bool found = false;

    (void)state;
    job_write(dir, NULL, path);
    snprintf(text, sizeof text, "%s/scale.cl", dir);
    file_replace(text, first, strlen(first), 0644, NULL);
    snprintf(text, sizeof text, "%s/b.h", dir);
    snprintf(back, sizeof back, b, strrchr(dir, '/') + 1);
    file_replace(text, back, strlen(back), 0644, NULL);
    snprintf(text, sizeof text, "%s/a.h", dir);
    file_replace(text, a, strlen(a), 0644, NULL);
    blobs_init(&files, 1 << 20);
    buf_init(&closed, SPEC_MAX_BYTES);
    if (spec_load(path, &closed, &files, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < files.n; i++)
        found |= memmem(files.items[i].data, files.items[i].n_bytes, once, sizeof once - 1) != NULL;
    assert_true(found);
    for (int i = 0; i < 2; i++) { /* no guard of its own; not of all */
        file_replace(text, loose[i], strlen(loose[i]), 0644, NULL);
        buf_clear(&closed);
        assert_int_equal(spec_load(path, &closed, &files, &why), ERR_LIMIT);
        assert_non_null(strstr(why.text, "cyclic"));
    }
    buf_fini(&closed);
    blobs_fini(&files);
}

/* The call that a text in C gets, in words of the compiler's own; a launch of 1. */
static void a_function_of_c_is_called_once_by_a_text_of_ours(void **state)
{
    static const char *const names[] = {"C", "c++"};
    static const char *const calls[] = {
        "scale(*(void * const *)tune_args[0], *(void * const *)tune_args[1], *(float const *)tune_args[2], "
        "*(__INT32_TYPE__ const *)tune_args[3])",
        "scale(tune_pointer{*(void * const *)tune_args[0]}, tune_pointer{*(void * const *)tune_args[1]}, "
        "*(float const *)tune_args[2], *(__INT32_TYPE__ const *)tune_args[3])"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        char language[40];
        const char *const pairs[] = {"\"Language\": \"OpenCL\"", language, NULL};
        struct spec *s;
        struct blobs blobs;
        struct program p;
        const struct blob *b;

        snprintf(language, sizeof language, "\"Language\": \"%s\"", names[i]);
        s = opened(pairs);
        assert_non_null(strstr(spec_notes(s), "GlobalSize and LocalSize are not used: a function of C is called once"));
        blobs_init(&blobs, 1 << 20);
        p = program_of(s, "GROUP=2 PER=1 BUG=0", &blobs);
        assert_string_equal(p.api, "c");
        assert_int_equal(p.modules[0].lang, i ? LANG_CXX : LANG_C);
        assert_string_equal(p.launches[0].kernel, "tune_plain");
        assert_string_equal(p.launches[1].kernel, "tune_scale");
        assert_int_equal(p.launches[1].grid[0] * p.launches[1].block[0], 1);
        b = blobs_get(&blobs, p.modules[0].source.hex);
        assert_non_null(memmem(b->data, b->n_bytes, calls[i], strlen(calls[i])));
        program_fini(&p);
        blobs_fini(&blobs);
        spec_free(s);
    }
}

static void what_only_devices_have_is_refused_of_c(void **state)
{
    static const char from[] = "\"Language\": \"OpenCL\",", to[] = "\"Language\": \"C\", \"SharedMemory\": 64,";
    char name[120];

    (void)state;
    refuses(from, to, "SharedMemory: a function of C has none");
    refuses("\"Language\": \"OpenCL\"", "\"Language\": \"Fortran\"", "expected OpenCL, CUDA, C or C++");
    snprintf(name, sizeof name, "\"Language\": \"C\", \"KernelName\": \"a%058d\",", 0);
    refuses("\"Language\": \"OpenCL\", \"CompilerOptions\": [\"-cl-mad-enable\"],\n    \"KernelName\": \"scale\",",
            name, "KernelName: 'a0000000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(includes_travel_with_the_kernel),
        cmocka_unit_test(includes_stay_in_the_jobs_folders),
        cmocka_unit_test(a_header_that_is_to_be_there_once_is),
        cmocka_unit_test(headers_with_guards_may_include_each_other),
        cmocka_unit_test(a_function_of_c_is_called_once_by_a_text_of_ours),
        cmocka_unit_test(what_only_devices_have_is_refused_of_c),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
