/* SPDX-License-Identifier: MIT */
/* spec_read.c - a job's JSON made into a kernel, its space and its launch. */
#include "kernels/spec/spec_private.h"

#include "search_space/space_file.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_PROBLEM 8
#define KERNEL "KernelSpecification"

static const char *const axes[3] = {"X", "Y", "Z"};

const cJSON *spec_member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;

    return cJSON_IsNull(item) ? NULL : item;
}

enum err spec_text(const cJSON *object, const char *where, const char *name, const char **out, struct why *why)
{
    const cJSON *item = spec_member(object, name);

    if (!cJSON_IsString(item) || !item->valuestring[0])
        return why_set(why, ERR_INPUT, "%s.%s: expected text", where, name);
    *out = item->valuestring;
    return ERR_OK;
}

/* The space. */

static bool only(const char *text, const char *more)
{
    for (; *text; text++)
        if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9') ||
              strchr(more, *text)))
            return false;
    return true;
}

/* Knobs become -D NAME=value. */
static enum err check_knobs(const struct space *s, struct why *why)
{
    for (size_t i = 0; i < space_n_knobs(s); i++) {
        const char *name = space_knob_name(s, i);

        if (!only(name, "_") || strlen(name) >= PROGRAM_ID_BYTES)
            return why_set(why, ERR_INPUT,
                           "ConfigurationSpace.TuningParameters: '%.60s' is no name of at most %d letters", name,
                           PROGRAM_ID_BYTES - 1);
        for (size_t k = 0; k < space_n_values(s, i); k++) {
            const char *word = space_knob_value(s, i, k).text;

            if (word && (!*word || !only(word, "_.+-")))
                return why_set(
                    why, ERR_INPUT,
                    "ConfigurationSpace.TuningParameters: '%.60s' of %s cannot be a macro: expected letters, "
                    "digits, _ . + -",
                    word, name);
        }
    }
    return ERR_OK;
}

static enum err read_knobs(struct spec *s, const cJSON *configuration, struct why *why)
{
    cJSON *object = cJSON_CreateObject(), *inner = cJSON_CreateObject();
    const cJSON *list = spec_member(configuration, "TuningParameters");
    bool ok = true;
    enum err e = ERR_OK;

    if (!cJSON_IsArray(list) || !list->child)
        e = why_set(why, ERR_INPUT, "ConfigurationSpace.TuningParameters: expected an array of parameters");
    json_add_item(inner, "TuningParameters", list ? cJSON_Duplicate(list, true) : cJSON_CreateArray(), &ok);
    json_add_item(object, "ConfigurationSpace", inner, &ok);
    if (!e && !ok)
        e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    if (!e && (e = space_file_add(s->space, object, NULL, why)))
        why_prefix(why, e, "ConfigurationSpace");
    cJSON_Delete(object);
    return e ? e : check_knobs(s->space, why);
}

/* Sizes. */

static enum err read_problem(struct spec *s, const cJSON *kernel, struct why *why)
{
    const cJSON *sizes = spec_member(kernel, "ProblemSize"), *item = cJSON_IsArray(sizes) ? sizes->child : sizes;
    size_t n = 0;
    enum err e = ERR_OK;

    for (const cJSON *k = item; k; k = cJSON_IsArray(sizes) ? k->next : NULL)
        n++;
    if (n > MAX_PROBLEM)
        return why_set(why, ERR_LIMIT, KERNEL ".ProblemSize: more than %d sizes", MAX_PROBLEM);
    s->n_problem = n; /* before they are read: they may name each other */
    for (size_t i = 0; i < n && !e; i++, item = item->next) {
        char name[SPACE_NAME_BYTES], where[SPEC_WHERE_BYTES];

        snprintf(name, sizeof name, "ProblemSize.%zu", i);
        snprintf(where, sizeof where, KERNEL ".ProblemSize[%zu]", i);
        e = spec_define(s, name, item, where, why);
    }
    return e;
}

/* {"X": .., "Y": .., "Z": ..} as quantities PREFIX MEMBER.X ..; what is left out is 1. */
static enum err read_dims(struct spec *s, const cJSON *o, const char *path, const char *prefix, const char *member,
                          struct why *why)
{
    const cJSON *dims = spec_member(o, member);
    enum err e = ERR_OK;

    if (!cJSON_IsObject(dims) || !spec_member(dims, "X"))
        return why_set(why, ERR_INPUT, "%s.%s: expected an object with X, and Y, Z where there are more", path, member);
    for (int i = 0; i < 3 && !e; i++) {
        const cJSON *item = spec_member(dims, axes[i]);
        char name[SPACE_NAME_BYTES], where[SPEC_WHERE_BYTES];

        snprintf(name, sizeof name, "%s%s.%s", prefix, member, axes[i]);
        snprintf(where, sizeof where, "%s.%s.%s", path, member, axes[i]);
        e = item ? spec_define(s, name, item, where, why) : spec_define_text(s, name, "1", where, why);
    }
    return e;
}

/* "ceil_div(ProblemSize[0], (a) * (b))" of GridDivX; a parameter block_size_x stands in for a list that is not there.
 */
static enum err grid_text(const struct spec *s, const cJSON *kernel, int axis, const char *where, struct buf *out,
                          struct why *why)
{
    static const char *const members[3] = {"GridDivX", "GridDivY", "GridDivZ"};
    static const char *const blocks[3] = {"block_size_x", "block_size_y", "block_size_z"};
    const cJSON *list, *item;

    assert(axis >= 0 && axis < 3);
    list = spec_member(kernel, members[axis]);
    if (list && !cJSON_IsArray(list))
        return why_set(why, ERR_INPUT, "%s: expected an array", where);
    if ((size_t)axis >= s->n_problem)
        return buf_puts(out, "1");
    buf_printf(out, "ceil_div(ProblemSize[%d], 1", axis);
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item))
            buf_printf(out, " * (%s)", item->valuestring);
        else if (cJSON_IsNumber(item))
            buf_printf(out, " * %.17g", item->valuedouble);
        else
            return why_set(why, ERR_INPUT, "%s: expected numbers and expressions", where);
    }
    if ((!list || !list->child) && space_find_knob(s->space, blocks[axis]) >= 0)
        buf_printf(out, " * %s", blocks[axis]);
    return buf_puts(out, ")");
}

static enum err read_grid(struct spec *s, const cJSON *kernel, struct why *why)
{
    enum err e = ERR_OK;

    for (int i = 0; i < 3 && !e; i++) {
        char name[SPACE_NAME_BYTES], where[SPEC_WHERE_BYTES];
        struct buf text;

        snprintf(name, sizeof name, "GlobalSize.%s", axes[i]);
        snprintf(where, sizeof where, KERNEL ".GridDiv%s", axes[i]);
        buf_init(&text, EXPR_MAX_TEXT);
        e = grid_text(s, kernel, i, where, &text, why);
        if (e == ERR_LIMIT && text.failed)
            why_set(why, e, "%s: longer than %d bytes", where, EXPR_MAX_TEXT);
        if (!e)
            e = spec_define_text(s, name, buf_text(&text), where, why);
        buf_fini(&text);
    }
    s->kernel.is_grouped = true;
    if (!e && spec_member(kernel, "GlobalSize"))
        buf_puts(&s->notes, "GlobalSize is not used: ProblemSize and GridDivX tell the grid\n");
    return e;
}

static bool has_grid_div(const cJSON *kernel)
{
    const cJSON *x = spec_member(kernel, "GridDivX"), *y = spec_member(kernel, "GridDivY"),
                *z = spec_member(kernel, "GridDivZ");

    return spec_member(kernel, "ProblemSize") && ((x && x->child) || (y && y->child) || (z && z->child));
}

static enum err read_size_type(const struct spec *s, const cJSON *o, const char *path, bool *is_grouped,
                               struct why *why)
{
    const cJSON *type = spec_member(o, "GlobalSizeType");
    const char *text = cJSON_IsString(type) ? type->valuestring : s->lang == LANG_CUDA_C ? "CUDA" : "OpenCL";

    if (strcasecmp(text, "OpenCL") != 0 && strcasecmp(text, "CUDA") != 0 && strcasecmp(text, "Vulkan") != 0)
        return why_set(why, ERR_INPUT, "%s.GlobalSizeType: '%.40s' is not known: expected OpenCL or CUDA", path, text);
    *is_grouped = strcasecmp(text, "OpenCL") != 0;
    return ERR_OK;
}

/* A function of C is called once, whatever sizes the file names. */
static enum err read_call(struct spec *s, const cJSON *o, const char *path, struct spec_kernel *k, struct why *why)
{
    static const char *const sizes[] = {"GlobalSize", "LocalSize"};
    const cJSON *shared = spec_member(o, "SharedMemory");
    const bool is_main = k == &s->kernel;
    enum err e = ERR_OK;

    if (shared && !(cJSON_IsNumber(shared) && shared->valuedouble == 0))
        return why_set(why, ERR_UNSUPPORTED, "%s.SharedMemory: a function of C has none", path);
    k->is_grouped = true;
    k->has_global = k->has_local = is_main;
    if (is_main && (spec_member(o, "GlobalSize") || spec_member(o, "LocalSize")))
        buf_puts(&s->notes, "GlobalSize and LocalSize are not used: a function of C is called once\n");
    for (int i = 0; is_main && i < 6 && !e; i++) {
        char name[SPACE_NAME_BYTES];

        snprintf(name, sizeof name, "%s.%s", sizes[i / 3], axes[i % 3]);
        e = spec_define_text(s, name, "1", path, why);
    }
    return e;
}

/* Launch of one of the two kernels; the reference has the other's where it says nothing. */
static enum err read_launch(struct spec *s, const cJSON *o, const char *path, struct spec_kernel *k, struct why *why)
{
    const cJSON *shared = spec_member(o, "SharedMemory");
    const bool is_main = k == &s->kernel;
    char name[SPACE_NAME_BYTES], where[SPEC_WHERE_BYTES];
    enum err e;

    if (spec_is_function(s))
        return read_call(s, o, path, k, why);
    e = read_size_type(s, o, path, &k->is_grouped, why);
    k->has_global = is_main || spec_member(o, "GlobalSize");
    k->has_local = is_main || spec_member(o, "LocalSize");
    k->has_shared = shared && !(cJSON_IsNumber(shared) && shared->valuedouble == 0);
    if (!e && is_main && has_grid_div(o))
        e = read_grid(s, o, why);
    else if (!e && k->has_global)
        e = read_dims(s, o, path, k->prefix, "GlobalSize", why);
    if (!e && k->has_local)
        e = read_dims(s, o, path, k->prefix, "LocalSize", why);
    if (e || !k->has_shared)
        return e;
    snprintf(name, sizeof name, "%sSharedMemory", k->prefix);
    snprintf(where, sizeof where, "%s.SharedMemory", path);
    return spec_define(s, name, shared, where, why);
}

/* Kernels. */

static enum err read_language(struct spec *s, const cJSON *kernel, struct why *why)
{
    const struct spec_language *l;
    const char *text = NULL;
    const enum err e = spec_text(kernel, KERNEL, "Language", &text, why);

    if (e)
        return e;
    l = spec_language_named(text);
    if (!l)
        return why_set(why, ERR_UNSUPPORTED,
                       KERNEL ".Language: '%.40s' is not supported: expected OpenCL, CUDA, C or C++", text);
    s->lang = l->lang;
    return ERR_OK;
}

static enum err add_option(struct buf *out, const cJSON *item, const char *path, struct why *why)
{
    if (!cJSON_IsString(item) || !only(item->valuestring, "_.+-=,:/ "))
        return why_set(why, ERR_INPUT,
                       "%s.CompilerOptions: expected texts of letters, digits, space and _ . + - = , : /, not '%.60s'",
                       path, cJSON_IsString(item) ? item->valuestring : "(no text)");
    if (item->valuestring[0])
        buf_printf(out, "%s%s", out->len ? " " : "", item->valuestring);
    return ERR_OK;
}

static enum err read_options(const cJSON *o, const char *path, struct spec_kernel *k, struct why *why)
{
    const cJSON *list = spec_member(o, "CompilerOptions"), *item;
    struct buf text;
    enum err e = ERR_OK;

    buf_init(&text, 1000);
    if (cJSON_IsString(list))
        e = add_option(&text, list, path, why);
    else if (list && !cJSON_IsArray(list))
        e = why_set(why, ERR_INPUT, "%s.CompilerOptions: expected an array of texts", path);
    cJSON_ArrayForEach(item, list)
    {
        if (!e)
            e = add_option(&text, item, path, why);
    }
    if (!e && text.failed)
        e = why_set(why, ERR_LIMIT, "%s.CompilerOptions: longer than 1000 bytes", path);
    free(k->options);
    k->options = strdup(buf_text(&text));
    buf_fini(&text);
    return e || k->options ? e : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

/* A CUDA kernel is asked for by its plain name: gives `extern "C"` to it where the text has none. Lends or makes. */
static enum err plain_name(const char *text, const char *name, struct buf *out, struct why *why)
{
    static const char keyword[] = "__global__";
    const size_t n = strlen(name);

    for (const char *at = strstr(text, name); at; at = strstr(at + n, name)) {
        const char *behind = at + n, *global = NULL;

        while (*behind == ' ' || *behind == '\t' || *behind == '\n' || *behind == '\r')
            behind++;
        if (*behind != '(' || (at > text && only((const char[]){at[-1], 0}, "_")))
            continue;
        for (const char *k = at; k-- > text && !strchr(";{}", *k) && !global;)
            global = strncmp(k, keyword, sizeof keyword - 1) == 0 ? k : NULL;
        if (!global)
            continue;
        buf_append(out, text, (size_t)(global - text));
        buf_puts(out, "extern \"C\" ");
        return buf_puts(out, global);
    }
    return why_set(why, ERR_INPUT, KERNEL ".KernelName: no '__global__ .. %s(' in the kernel's text", name);
}

static enum err take_source(struct spec *s, const cJSON *files, const char *file, const char *path,
                            struct spec_kernel *k, struct why *why)
{
    const struct blob *b;
    struct buf text, changed;
    char where[SPEC_WHERE_BYTES];
    enum err e;

    snprintf(where, sizeof where, "%s.KernelFile", path);
    e = spec_file_hash(files, file, where, &k->source, why);
    b = e ? NULL : blobs_get(&s->files, k->source.hex);
    if (e || s->lang != LANG_CUDA_C)
        return e;
    buf_init(&text, SPEC_MAX_BYTES);
    buf_init(&changed, SPEC_MAX_BYTES + 64);
    e = buf_append(&text, b->data, b->n_bytes);
    if (!e && !strstr(buf_text(&text), "extern \"C\"")) {
        e = plain_name(buf_text(&text), k->name, &changed, why);
        if (!e)
            e = blobs_put(&s->files, buf_text(&changed), changed.len, &k->source);
    }
    buf_fini(&text);
    buf_fini(&changed);
    return e;
}

/* Macros beside the parameters', of each config. */
static enum err read_defines(struct spec *s, const cJSON *kernel, struct why *why)
{
    const cJSON *defines = spec_member(kernel, "Defines"), *item;
    enum err e = ERR_OK;

    if (defines && !cJSON_IsObject(defines))
        return why_set(why, ERR_INPUT, KERNEL ".Defines: expected an object of names and expressions");
    cJSON_ArrayForEach(item, defines)
    {
        char name[SPACE_NAME_BYTES], where[SPEC_WHERE_BYTES];

        if (e)
            break;
        if (!only(item->string, "_") || !expr_is_name(item->string) ||
            strlen(item->string) + sizeof SPEC_DEFINE > PROGRAM_ID_BYTES ||
            space_find_knob(s->space, item->string) >= 0)
            return why_set(why, ERR_INPUT,
                           KERNEL ".Defines: '%.60s' is no name of a macro of at most %d letters that is no parameter",
                           item->string, PROGRAM_ID_BYTES - (int)sizeof SPEC_DEFINE);
        snprintf(name, sizeof name, SPEC_DEFINE "%s", item->string);
        snprintf(where, sizeof where, KERNEL ".Defines.%.60s", item->string);
        e = spec_define(s, name, item, where, why);
    }
    return e;
}

/* Text of a member, or what stands in for it (NULL = the member must be there). */
static enum err text_or(const cJSON *o, const char *path, const char *name, const char *otherwise, const char **out,
                        struct why *why)
{
    if (!otherwise || spec_member(o, name))
        return spec_text(o, path, name, out, why);
    *out = otherwise;
    return ERR_OK;
}

/* `main` is the job's own kernel object, whose members stand in for those that the reference leaves out; NULL = this is
 * it. */
static enum err read_kernel(struct spec *s, const cJSON *o, const char *path, const cJSON *main, const cJSON *files,
                            struct spec_kernel *k, struct why *why)
{
    const cJSON *types = spec_member(o, "KernelTypeNames"), *other = spec_member(main, "KernelFile");
    const char *name = NULL, *file = NULL;
    enum err e = ERR_OK;

    if (types && types->child)
        return why_set(why, ERR_UNSUPPORTED, "%s.KernelTypeNames: kernels that are templates are not supported", path);
    e = text_or(o, path, "KernelName", main ? s->kernel.name : NULL, &name, why);
    if (!e && (!only(name, "_") || strlen(name) >= sizeof k->name || (*name >= '0' && *name <= '9')))
        e = why_set(why, ERR_INPUT, "%s.KernelName: '%.60s' is no name of a function", path, name);
    if (e)
        return e;
    snprintf(k->name, sizeof k->name, "%s", name);
    e = text_or(o, path, "KernelFile", main ? other->valuestring : NULL, &file, why);
    if (!e)
        e = take_source(s, files, file, path, k, why);
    return e ? e : read_options(main && !spec_member(o, "CompilerOptions") ? main : o, path, k, why);
}

static enum err read_reference(struct spec *s, const cJSON *main, const cJSON *files, struct why *why)
{
    static const char path[] = KERNEL ".ReferenceKernel";
    const cJSON *o = spec_member(main, "ReferenceKernel");
    enum err e;

    if (!o)
        return ERR_OK;
    if (!cJSON_IsObject(o))
        return why_set(why, ERR_INPUT, "%s: expected an object", path);
    s->has_reference = true;
    snprintf(s->reference.prefix, sizeof s->reference.prefix, "Reference.");
    e = read_kernel(s, o, path, main, files, &s->reference, why);
    if (!e)
        e = read_launch(s, o, path, &s->reference, why);
    return e ? e : spec_read_threshold(o, path, &s->has_threshold, &s->threshold, &s->relative, why);
}

/* Configs. */

/* {"a": 1} over the defaults of the parameters; those without either are left out. */
static cJSON *config_object(const cJSON *parameters, const cJSON *over)
{
    cJSON *knobs = cJSON_CreateObject();
    const cJSON *p;

    cJSON_ArrayForEach(p, parameters)
    {
        const cJSON *name = spec_member(p, "Name"), *value = spec_member(p, "Default");
        const cJSON *given = cJSON_IsString(name) ? spec_member(over, name->valuestring) : NULL;
        cJSON *copy;

        value = given ? given : cJSON_IsArray(value) ? value->child : value;
        copy = cJSON_IsBool(value) ? cJSON_CreateNumber(cJSON_IsTrue(value)) : cJSON_Duplicate(value, true);
        if (!cJSON_IsString(name) || !copy || !cJSON_AddItemToObject(knobs, name->valuestring, copy))
            cJSON_Delete(copy);
    }
    return knobs;
}

static void read_default(struct spec *s, const cJSON *parameters)
{
    cJSON *knobs = config_object(parameters, NULL);
    const char *violated = NULL;
    struct why why = {""};

    if (knobs && !knobs->child) {
        cJSON_Delete(knobs);
        return;
    }
    if (space_config_from_json(s->space, knobs, &s->fallback, &why))
        buf_printf(&s->notes, "the Defaults are not used: %s\n", why.text);
    else if (!space_is_valid(s->space, &s->fallback, &violated))
        buf_printf(&s->notes, "the Defaults are not used: they violate %s\n", violated);
    else
        s->has_fallback = true;
    cJSON_Delete(knobs);
}

static enum err read_reference_config(struct spec *s, const cJSON *main, const cJSON *parameters, struct why *why)
{
    static const char path[] = KERNEL ".ReferenceKernel.Configuration";
    const cJSON *given = spec_member(spec_member(main, "ReferenceKernel"), "Configuration"), *item;
    cJSON *knobs;
    enum err e;

    if (!s->has_reference)
        return ERR_OK;
    cJSON_ArrayForEach(item, given)
    {
        if (!item->string || space_find_knob(s->space, item->string) < 0)
            return why_set(why, ERR_INPUT, "%s: expected an object of tuning parameters, '%.40s' is none", path,
                           item->string ? item->string : "");
    }
    knobs = config_object(parameters, given);
    e = space_config_from_json(s->space, knobs, &s->reference_config, why);
    cJSON_Delete(knobs);
    return e ? why_prefix(why, e, "%s", given ? path : KERNEL ".ReferenceKernel has no Configuration, so the Defaults")
             : ERR_OK;
}

/* The rest. */

static void read_budget(struct spec *s, const cJSON *budget)
{
    const cJSON *item = cJSON_IsArray(budget) ? budget->child : budget;

    for (; item; item = cJSON_IsArray(budget) ? item->next : NULL) {
        const cJSON *type = spec_member(item, "Type"), *value = spec_member(item, "BudgetValue");

        if (!cJSON_IsString(type) || !cJSON_IsNumber(value) || !(value->valuedouble > 0))
            buf_puts(&s->notes, "Budget is not used: expected Type and a positive BudgetValue\n");
        else if (strcmp(type->valuestring, "ConfigurationCount") == 0)
            s->budget.trials = value->valuedouble;
        else if (strcmp(type->valuestring, "TuningDuration") == 0)
            s->budget.time_s = value->valuedouble;
        else if (strcmp(type->valuestring, "ConfigurationFraction") == 0)
            s->budget.fraction = fmin(value->valuedouble, 1);
        else
            buf_printf(&s->notes, "Budget.Type %.40s is not used\n", type->valuestring);
    }
}

static void read_notes(struct spec *s, const cJSON *job, const cJSON *kernel)
{
    static const struct {
        const char *name, *instead;
        bool in_kernel;
    } unused[] = {{"Search", "--strategy tells how to search", false},
                  {"Device", "--device and --key tell where to run", true},
                  {"SimulationInput", "--device replay:FILE replays a recording", true}};

    for (size_t i = 0; i < sizeof unused / sizeof unused[0]; i++)
        if (spec_member(unused[i].in_kernel ? kernel : job, unused[i].name))
            buf_printf(&s->notes, "%s is not used: %s\n", unused[i].name, unused[i].instead);
}

static enum err copy_file(const char *hex, const struct blobs *from, struct spec *s, struct why *why)
{
    const struct blob *b = blobs_get(from, hex);
    enum err e = b ? blobs_put(&s->files, b->data, b->n_bytes, NULL) : ERR_NOT_FOUND;

    return e ? why_set(why, e, "a file of the kernel's job (%.12s) is not here", hex) : ERR_OK;
}

static enum err copy_files(struct spec *s, const cJSON *files, const struct blobs *from, struct why *why)
{
    const cJSON *item;
    enum err e = ERR_OK;

    cJSON_ArrayForEach(item, files)
    {
        const char *hex = NULL;

        if (!e)
            e = json_get_text(item, "sha256", &hex, why);
        if (!e)
            e = copy_file(hex, from, s, why);
    }
    return e;
}

/* "kernel NAME problem_size=256,256", as results of Kernel Tuner are named as well. */
static enum err set_workload(struct spec *s, struct why *why)
{
    const struct config any = {{0}};
    size_t n = (size_t)snprintf(s->workload, sizeof s->workload, "kernel %s", s->kernel.name);

    for (size_t i = 0; i < s->n_problem && n < sizeof s->workload; i++) {
        char name[40];
        double v = 0;
        const enum err e =
            snprintf(name, sizeof name, "ProblemSize.%zu", i) > 0 ? space_eval(s->space, &any, name, &v) : ERR_INPUT;

        if (e)
            return why_set(why, e, KERNEL ".ProblemSize[%zu]: has no value", i);
        if (!(v >= 1 && v <= JSON_EXACT_MAX) || v != rint(v))
            return why_set(why, ERR_INPUT, KERNEL ".ProblemSize[%zu] is %.15g: expected a whole number from 1", i, v);
        n += (size_t)snprintf(s->workload + n, sizeof s->workload - n, "%s%.15g", i ? "," : " problem_size=", v);
    }
    return ERR_OK;
}

/* Of what decides about times and results, and of nothing else: a longer list of values leaves old records true. */
static enum err set_version(struct spec *s, const cJSON *kernel, const cJSON *files, struct why *why)
{
    struct sha256 hash;
    struct buf text;
    enum err e;

    buf_init(&text, 4 * SPEC_MAX_BYTES);
    e = json_print(kernel, &text);
    if (!e)
        e = json_print(files, &text);
    if (!e) {
        hash = sha256_of(buf_text(&text), text.len);
        hash.hex[8] = '\0';
        s->version = (int)(strtoul(hash.hex, NULL, 16) >> 1 | 1);
    }
    buf_fini(&text);
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

/* Outputs that are compared with the reference kernel's: those the file marks, else all that are written. */
static enum err choose_outputs(struct spec *s, struct why *why)
{
    size_t n_marked = 0, n = 0;

    for (size_t i = 0; i < s->n_args; i++)
        n_marked += s->args[i].is_output;
    for (size_t i = 0; i < s->n_args; i++) {
        struct spec_arg *a = &s->args[i];

        if (n_marked == 0)
            a->is_output = spec_is_written(a);
        n += a->is_expected || (s->has_reference && a->is_output);
    }
    if (n > PROGRAM_MAX_CHECKS)
        return why_set(why, ERR_LIMIT, KERNEL ".Arguments: more than %d outputs to compare: mark them with Output",
                       PROGRAM_MAX_CHECKS);
    if (s->has_reference && n == 0)
        return why_set(why, ERR_INPUT, KERNEL ".ReferenceKernel: no argument is a vector that is written");
    return ERR_OK;
}

static enum err read_job(struct spec *s, const cJSON *job, const cJSON *files, struct why *why)
{
    const cJSON *configuration = spec_member(job, "ConfigurationSpace"), *kernel = spec_member(job, KERNEL);
    const cJSON *parameters = spec_member(configuration, "TuningParameters"),
                *operations = spec_member(kernel, "Operations");
    enum err e;

    if (!cJSON_IsObject(kernel))
        return why_set(why, ERR_INPUT, KERNEL ": expected an object");
    e = read_knobs(s, configuration, why);
    if (!e)
        e = read_language(s, kernel, why);
    if (!e)
        e = read_kernel(s, kernel, KERNEL, NULL, files, &s->kernel, why);
    if (!e)
        e = read_problem(s, kernel, why);
    if (!e)
        e = spec_read_args(s, kernel, files, why);
    if (!e)
        e = read_launch(s, kernel, KERNEL, &s->kernel, why);
    if (!e)
        e = read_defines(s, kernel, why);
    if (!e)
        e = spec_read_threshold(kernel, KERNEL, &s->has_threshold, &s->threshold, &s->relative, why);
    if (!e)
        e = read_reference(s, kernel, files, why);
    s->has_operations = operations != NULL;
    if (!e && operations)
        e = spec_define(s, "Operations", operations, KERNEL ".Operations", why);
    if (!e)
        e = spec_settle(s, spec_member(configuration, "Conditions"), why);
    if (!e)
        e = set_workload(s, why);
    if (!e)
        e = choose_outputs(s, why);
    if (!e)
        e = spec_check_sizes(s, why);
    if (!e)
        e = spec_check_symbols(s, why);
    if (!e && spec_is_function(s))
        e = spec_add_entries(s, why);
    if (e)
        return e;
    read_default(s, parameters);
    read_budget(s, spec_member(job, "Budget"));
    read_notes(s, job, kernel);
    e = spec_read_metrics(s, spec_member(job, "Metrics"), why);
    if (!e)
        e = read_reference_config(s, kernel, parameters, why);
    return e ? e : set_version(s, kernel, files, why);
}

enum err spec_open(const char *closed, size_t n, const struct blobs *files, struct spec **out, struct why *why)
{
    struct spec *s = calloc(1, sizeof *s);
    cJSON *job = NULL;
    const cJSON *list = NULL;
    enum err e;

    if (!s)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    buf_init(&s->notes, 16384);
    blobs_init(&s->files, 4 * SPEC_MAX_DATA_BYTES);
    e = spec_parse_closed(closed, n, &job, &list, why);
    if (!e && space_new(&s->space))
        e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    if (!e)
        e = copy_files(s, list, files, why);
    if (!e)
        e = read_job(s, job, list, why);
    cJSON_Delete(job);
    if (e)
        spec_free(s);
    else
        *out = s;
    return spec_one_line(why, e);
}
