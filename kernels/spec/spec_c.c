/* SPDX-License-Identifier: MIT */
/* spec_c.c - kernels in plain C and C++: behind the text stands one more function, which the backend calls with
 * pointers (docs/program-format.md) and which calls the kernel, so that the compiler itself sees to its types. */
#include "kernels/spec/spec_private.h"

#include "core/buf.h"

#include <stdio.h>
#include <string.h>

/* In C++ a pointer becomes one of what the function takes, and what a function returns chooses how it is called. */
static const char cxx_words[] =
    "namespace {\n"
    "struct tune_pointer {\n"
    "    void *at;\n"
    "    template <class T> operator T *() const { return static_cast<T *>(at); }\n"
    "};\n"
    "template <class R> struct tune_returns {\n"
    "    static_assert(sizeof(R) == 0, \"expected a function of void, or of float or double: its time in ms\");\n"
    "};\n"
    "template <> struct tune_returns<void> {\n"
    "    template <class F> static double of(F call) { call(); return -__builtin_inf(); }\n"
    "};\n"
    "template <> struct tune_returns<float> {\n"
    "    template <class F> static double of(F call) { return call(); }\n"
    "};\n"
    "template <> struct tune_returns<double> : tune_returns<float> {};\n"
    "}\n";

/* Pointers go as void *: what they point to is the kernel's to know (rows of arrays, structs). */
static enum err put_call(const struct spec *s, const struct spec_kernel *k, struct buf *out)
{
    buf_printf(out, "%s(", k->name);
    for (size_t i = 0; i < s->n_args; i++) {
        const struct spec_arg *a = &s->args[i];
        const bool is_vector = a->memory == SPEC_VECTOR;
        const char *type = is_vector                                                   ? "void *"
                           : s->lang == LANG_CXX && strcmp(a->type->name, "bool") == 0 ? "bool" /* C++ has no _Bool */
                                                                                       : a->type->c_scalar;

        buf_puts(out, i ? ", " : "");
        if (is_vector && s->lang == LANG_CXX)
            buf_printf(out, "tune_pointer{*(%s const *)tune_args[%zu]}", type, i);
        else
            buf_printf(out, "*(%s const *)tune_args[%zu]", type, i);
    }
    return buf_puts(out, ")");
}

static void put_cxx_body(const char *call, struct buf *out)
{
    buf_printf(out, "    return tune_returns<decltype(%s)>::of([=]() { return %s; });\n", call, call);
}

/* Of the two results of a choice the compiler throws away the one that has no meaning. */
static void put_c_body(const char *name, const char *call, struct buf *out)
{
    static const char is[] = "__builtin_types_compatible_p(__typeof__(";

    buf_printf(out, "    _Static_assert(%s%s), void) || %s%s), float) || %s%s), double),\n", is, call, is, call, is,
               call);
    buf_printf(out, "        \"%s: expected a function of void, or of float or double: its time in ms\");\n", name);
    buf_printf(out, "    return __builtin_choose_expr(%s%s), void), (%s, -__builtin_inf()), %s);\n", is, call, call,
               call);
}

static enum err put_entry_text(const struct spec *s, const struct spec_kernel *k, struct buf *out)
{
    const bool is_cxx = s->lang == LANG_CXX;
    struct buf call;
    enum err e;

    buf_init(&call, 16384);
    e = put_call(s, k, &call);
    buf_printf(out, "\n#line 1 \"the call of %s\"\n%s", k->name, is_cxx ? cxx_words : "");
    buf_printf(out, "%s__attribute__((visibility(\"default\"))) double " SPEC_ENTRY "%s(void *const *tune_args)\n{\n",
               is_cxx ? "extern \"C\" " : "", k->name);
    buf_puts(out, "    (void)tune_args;\n");
    if (is_cxx)
        put_cxx_body(buf_text(&call), out);
    else
        put_c_body(k->name, buf_text(&call), out);
    buf_puts(out, "}\n");
    buf_fini(&call);
    return e ? e : out->failed;
}

static enum err put_entry(struct spec *s, struct spec_kernel *k, struct why *why)
{
    const struct blob *source = blobs_get(&s->files, k->source.hex);
    const size_t most = sizeof((struct program_launch *)0)->kernel - sizeof SPEC_ENTRY;
    struct buf text;
    enum err e;

    if (strlen(k->name) > most)
        return why_set(why, ERR_LIMIT, "KernelSpecification.KernelName: '%.64s' has more than %zu letters", k->name,
                       most);
    buf_init(&text, SPEC_MAX_BYTES + 65536);
    e = source ? buf_append(&text, source->data, source->n_bytes) : ERR_NOT_FOUND;
    if (!e)
        e = put_entry_text(s, k, &text);
    if (!e)
        e = blobs_put(&s->files, buf_text(&text), text.len, &k->source);
    buf_fini(&text);
    return e ? why_set(why, e, "the text of %s: %s", k->name, err_words(e)) : ERR_OK;
}

enum err spec_add_entries(struct spec *s, struct why *why)
{
    const enum err e = put_entry(s, &s->kernel, why);

    return !e && s->has_reference ? put_entry(s, &s->reference, why) : e;
}
