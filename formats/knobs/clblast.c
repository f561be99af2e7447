/* SPDX-License-Identifier: MIT */
#include "formats/knobs/clblast.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "kernels/build.h"
#include "kernels/conv/shape.h"
#include "formats/knobs/tvm_private.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMETERS 20

struct parameter {
    const char *theirs, *ours;
};

/* One of ours that CLBlast has not, with the value its kernel stands for; `from`: the parameter whose value it takes.
 */
struct own {
    const char *ours;
    int64_t value;
    const char *from, *refused;
};

struct clblast_family {
    const char *name, *file_name, *kernel, *template_id;
    const char *form; /* our knob "form", of im2col_gemm */
    const struct parameter *parameters;
    const struct build_define *fixed; /* of theirs: another value is another kernel */
    const struct own *own;
};

static const struct parameter xgemm[] = {
    {"MWG", "mwg"},     {"NWG", "nwg"},     {"KWG", "kwg"}, {"MDIMC", "mdimc"}, {"NDIMC", "ndimc"},
    {"MDIMA", "mdima"}, {"NDIMB", "ndimb"}, {"KWI", "kwi"}, {"VWM", "vwm"},     {"VWN", "vwn"},
    {"STRM", "strm"},   {"STRN", "strn"},   {"SA", "sa"},   {"SB", "sb"},       {0}};
static const struct build_define xgemm_fixed[] = {{"GEMMK", 0}, {"KREG", 1}, {0}};
static const struct own xgemm_own[] = {{"stages", 1, NULL, "CLBlast stages one tile at a time"},
                                       {"split", 1, NULL, "CLBlast's Xgemm makes each sum in one part"},
                                       {0}};

static const struct parameter direct[] = {{"WGD", "wgd"},
                                          {"MDIMCD", "mdimcd"},
                                          {"NDIMCD", "ndimcd"},
                                          {"MDIMAD", "mdimad"},
                                          {"NDIMBD", "ndimbd"},
                                          {"KWID", "kwid"},
                                          {"VWMD", "vwmd"},
                                          {"VWND", "vwnd"},
                                          {"PADA", "pada"},
                                          {"PADB", "padb"},
                                          {0}};
static const struct build_define nothing[] = {{0}};
static const struct own direct_own[] = {{"vec", 1, "VWND", NULL},
                                        {"stages", 1, NULL, "CLBlast stages one tile at a time"},
                                        {"split", 1, NULL, "CLBlast's XgemmDirect makes each sum in one part"},
                                        {0}};

/* Its rows are pixels and its columns output channels; ours are the other way round. One side for all three axes. */
static const struct parameter conv[] = {{"WGD", "mwg"},      {"MDIMCD", "ndimc"}, {"NDIMCD", "mdimc"},
                                        {"MDIMAD", "ndimb"}, {"NDIMBD", "mdima"}, {"KWID", "kwi"},
                                        {"VWMD", "vwn"},     {"VWND", "vwm"},     {0}};
static const struct build_define conv_fixed[] = {{"PADA", 0}, {"PADB", 0}, {0}};
static const struct own conv_own[] = {{"nwg", 0, "WGD", "CLBlast's tile has one side for all axes"},
                                      {"kwg", 0, "WGD", "CLBlast's tile has one side for all axes"},
                                      {"sa", 1, NULL, "CLBlast stages both factors"},
                                      {"sb", 1, NULL, "CLBlast stages both factors"},
                                      {"strm", 0, NULL, NULL},
                                      {"strn", 0, NULL, NULL},
                                      {"swap", 0, NULL, NULL},
                                      {"stages", 1, NULL, "CLBlast stages one tile at a time"},
                                      {"split", 1, NULL, "CLBlast's Xconvgemm makes each sum in one part"},
                                      {0}};

static const struct clblast_family families[] = {
    {"xgemm", "xgemm_1", "Xgemm", "dense/gemm_tiled", NULL, xgemm, xgemm_fixed, xgemm_own},
    {"xgemm_direct", "xgemm_direct_1", "XgemmDirectTN", "dense/gemm_direct", NULL, direct, nothing, direct_own},
    {"xconvgemm", "xconvgemm", "XconvgemmNormal", "conv2d/im2col_gemm", "fused", conv, conv_fixed, conv_own},
};

#define N_FAMILIES (sizeof families / sizeof families[0])

const struct clblast_family *clblast_find(const char *name)
{
    for (size_t i = N_FAMILIES; i-- > 0;) { /* the longer of two that begin alike first */
        const size_t n = strlen(families[i].name);
        const char *rest = name + n;

        if (strncmp(name, families[i].name, n) == 0 &&
            (!*rest || (*rest == '_' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1))))
            return &families[i];
    }
    return NULL;
}

const struct clblast_family *clblast_of(const char *template_id)
{
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i].template_id, template_id) == 0)
            return &families[i];
    return NULL;
}

const char *clblast_name(const struct clblast_family *f)
{
    return f->file_name;
}

const char *clblast_kernel(const struct clblast_family *f)
{
    return f->kernel;
}

const struct template *clblast_template(const struct clblast_family *f)
{
    const struct template *found = template_find(f->template_id);

    assert(found);
    return found;
}

static bool is_conv(const struct clblast_family *f)
{
    return f->form != NULL;
}

/* A size, as text (CLBlast writes all of them so) or as a number. */
static enum err size_of(const cJSON *args, const char *name, int64_t *out, struct why *why)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(args, name);
    const char *text = cJSON_IsString(v) ? v->valuestring : "";
    char *end = NULL;
    const double number = cJSON_IsNumber(v) ? v->valuedouble : strtod(text, &end);

    if ((cJSON_IsString(v) && (end == text || *end)) || !(number >= 1 && number <= (double)IMAGES_MAX_SIZE) ||
        number != (double)(int64_t)number)
        return why_set(why, ERR_INPUT, "%s: expected a whole number up to 2^24", name);
    *out = (int64_t)number;
    return ERR_OK;
}

static enum err sizes_of(const cJSON *args, const char *const *names, int64_t *out, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && names[i]; i++)
        e = size_of(args, names[i], &out[i], why);
    return e;
}

static const char *const gemm_names[] = {"arg_m", "arg_n", "arg_k", NULL};
static const char *const conv_names[] = {"arg_batch_count", "arg_channels", "arg_height",   "arg_width",
                                         "arg_num_kernels", "arg_kernel_h", "arg_kernel_w", NULL};

enum err clblast_workload(const struct clblast_family *f, const cJSON *args, struct workload *out, struct why *why)
{
    int64_t precision, z[8];
    struct buf text;
    enum err e = size_of(args, "precision", &precision, why);

    if (!e && precision != 32 && precision != 16)
        e = why_set(why, ERR_UNSUPPORTED, "precision %lld: expected 32 or 16", (long long)precision);
    if (!e)
        e = sizes_of(args, is_conv(f) ? conv_names : gemm_names, z, why);
    if (e)
        return e;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    if (is_conv(f))
        buf_printf(&text, "conv2d f%lld n=%lld c=%lld h=%lld w=%lld k=%lld r=%lld s=%lld", (long long)precision,
                   (long long)z[0], (long long)z[1], (long long)z[2], (long long)z[3], (long long)z[4], (long long)z[5],
                   (long long)z[6]);
    else
        buf_printf(&text, "dense f%lld m=%lld n=%lld k=%lld", (long long)precision, (long long)z[0], (long long)z[1],
                   (long long)z[2]);
    if (precision == 16)
        buf_puts(&text, " acc=f16");
    e = text.failed ? text.failed : workload_parse(buf_text(&text), out, why);
    buf_fini(&text);
    return e;
}

static void add_size(cJSON *args, const char *name, int64_t v, bool *ok)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)v);
    json_add_text(args, name, text, ok);
}

/* The tuner's convolution has no padding and steps of one. */
static enum err check_conv(const struct conv_shape *z, const struct workload *w, struct why *why)
{
    if (z->top || z->left || z->bottom || z->right || z->stride_h != 1 || z->stride_w != 1 || z->dil_h != 1 ||
        z->dil_w != 1 || z->groups != 1 || workload_get(w, "layout"))
        return why_set(why, ERR_UNSUPPORTED,
                       "CLBlast's xconvgemm is tuned without padding, strides, dilation, groups "
                       "and other layouts than nchw");
    return ERR_OK;
}

enum err clblast_args(const struct clblast_family *f, const struct workload *w, cJSON **out, struct why *why)
{
    const struct conv_shape z = is_conv(f) ? conv_shape_of(w) : (struct conv_shape){0};
    const int64_t conv_sizes[] = {z.n, z.c, z.h, z.w, z.k, z.r, z.s};
    enum err e = is_conv(f) ? check_conv(&z, w, why) : ERR_OK;
    cJSON *args;
    bool ok;

    if (!e && w->dtype != DTYPE_F32 && w->dtype != DTYPE_F16)
        e = why_set(why, ERR_UNSUPPORTED, "CLBlast has no precision for dtype %s", dtype_name(w->dtype));
    if (e)
        return e;
    args = cJSON_CreateObject();
    ok = args != NULL;
    json_add_text(args, "precision", w->dtype == DTYPE_F16 ? "16" : "32", &ok);
    for (size_t i = 0; is_conv(f) && conv_names[i]; i++)
        add_size(args, conv_names[i], conv_sizes[i], &ok);
    for (size_t i = 0; !is_conv(f) && gemm_names[i]; i++)
        add_size(args, gemm_names[i], workload_get(w, (const char *const[]){"m", "n", "k"}[i]), &ok);
    if (!ok) {
        cJSON_Delete(args);
        return ERR_NOMEM;
    }
    *out = args;
    return ERR_OK;
}

static enum err parameter_of(const cJSON *parameters, const char *name, int64_t *out, struct why *why)
{
    return json_get_i64(parameters, name, 0, 1 << 20, out, why);
}

static enum err choose(const struct clblast_family *f, const struct space *s, struct config *c, const char *name,
                       int64_t value, struct why *why)
{
    if (tvm_set(s, c, name, value))
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "%s: %s=%lld is not in the space here", f->template_id, name,
                   (long long)value);
}

static enum err choose_all(const struct clblast_family *f, const struct space *s, const cJSON *parameters,
                           struct config *c, struct why *why)
{
    enum err e = ERR_OK;
    int64_t v;

    for (const struct build_define *x = f->fixed; !e && x->name; x++) {
        if (!json_has(parameters, x->name))
            continue; /* of files from before it came */
        e = parameter_of(parameters, x->name, &v, why);
        if (!e && v != x->value)
            e = why_set(why, ERR_UNSUPPORTED, "%s=%lld: a kernel of CLBlast's that no template here is", x->name,
                        (long long)v);
    }
    for (const struct parameter *p = f->parameters; !e && p->theirs; p++) {
        e = parameter_of(parameters, p->theirs, &v, why);
        if (!e)
            e = choose(f, s, c, p->ours, v, why);
    }
    for (const struct own *o = f->own; !e && o->ours; o++) {
        v = o->value;
        if (o->from)
            e = parameter_of(parameters, o->from, &v, why);
        if (!e)
            e = choose(f, s, c, o->ours, v, why);
    }
    return e;
}

/* The form is a knob of words. */
static void choose_form(const struct clblast_family *f, const struct space *s, struct config *c)
{
    const int k = is_conv(f) ? space_find_knob(s, "form") : -1;

    for (size_t v = 0; k >= 0 && v < space_n_values(s, (size_t)k); v++)
        if (strcmp(space_knob_value(s, (size_t)k, v).text, f->form) == 0)
            c->choice[k] = (uint16_t)v;
}

enum err clblast_knobs(const struct clblast_family *f, const struct workload *w, const struct device_desc *d,
                       const cJSON *parameters, cJSON **out, struct why *why)
{
    struct space *s = NULL;
    struct config c = {{0}};
    const char *violated = "";
    enum err e = template_space(clblast_template(f), w, d, &s, why);

    if (!e) {
        choose_form(f, s, &c);
        e = choose_all(f, s, parameters, &c, why);
    }
    if (!e && !space_is_valid(s, &c, &violated))
        e = why_set(why, ERR_UNSUPPORTED, "%s: no valid config here: %s", f->template_id, violated);
    if (!e) {
        *out = space_config_to_json(s, &c);
        e = *out ? ERR_OK : ERR_NOMEM;
    }
    space_free(s);
    return e;
}

static enum err check_own(const struct clblast_family *f, const cJSON *knobs, const cJSON *parameters, struct why *why)
{
    const cJSON *form = cJSON_GetObjectItemCaseSensitive(knobs, "form");
    enum err e = ERR_OK;
    int64_t v, wanted;

    if (is_conv(f) && (!cJSON_IsString(form) || strcmp(form->valuestring, f->form) != 0))
        return why_set(why, ERR_UNSUPPORTED, "CLBlast's xconvgemm is the fused form");
    for (const struct own *o = f->own; !e && o->ours; o++) {
        wanted = o->value;
        e = json_get_i64(knobs, o->ours, 0, 1 << 20, &v, why);
        if (!e && o->from)
            e = parameter_of(parameters, o->from, &wanted, why);
        if (!e && o->refused && v != wanted)
            e = why_set(why, ERR_UNSUPPORTED, "%s=%lld; %s", o->ours, (long long)v, o->refused);
    }
    return e;
}

enum err clblast_parameters(const struct clblast_family *f, const struct workload *w, const cJSON *knobs, cJSON **out,
                            struct why *why)
{
    cJSON *parameters = cJSON_CreateObject();
    bool ok = parameters != NULL;
    enum err e = ok ? ERR_OK : ERR_NOMEM;
    int64_t v;

    for (const struct build_define *x = f->fixed; ok && x->name; x++)
        json_add_i64(parameters, x->name, x->value, &ok);
    for (const struct parameter *p = f->parameters; !e && p->theirs; p++) {
        e = json_get_i64(knobs, p->ours, 0, 1 << 20, &v, why);
        if (!e)
            json_add_i64(parameters, p->theirs, v, &ok);
    }
    if (!e)
        e = check_own(f, knobs, parameters, why);
    json_add_i64(parameters, "PRECISION", w->dtype == DTYPE_F16 ? 16 : 32, &ok);
    if (e || !ok) {
        cJSON_Delete(parameters);
        return e ? e == ERR_INPUT ? ERR_UNSUPPORTED : e : ERR_NOMEM;
    }
    *out = parameters;
    return ERR_OK;
}
