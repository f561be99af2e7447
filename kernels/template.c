#include "kernels/template.h"

#include "core/file.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/dense/dense.h"
#include "kernels/embedded.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

const struct template *const template_table[] = {
    &conv2d_direct_tile, &conv2d_spatial_pack, &conv2d_im2col_gemm, &conv2d_naive,
    &dense_gemm_packed,  &dense_gemm_direct,   &dense_naive,        NULL};

static char kernel_dir[PATH_MAX];

const struct template *template_find(const char *id)
{
    for (size_t i = 0; template_table[i]; i++)
        if (strcmp(template_table[i]->id, id) == 0)
            return template_table[i];
    return NULL;
}

enum err template_space(const struct template *t, const struct workload *w, const struct device_desc *d,
                        struct space **out, struct why *why)
{
    struct space *s = NULL;
    enum err e;

    if (t->fit(w, d, why) == FIT_NONE)
        return ERR_UNSUPPORTED;
    e = space_new(&s);
    if (!e)
        e = t->space(w, d, s, why);
    if (!e)
        e = space_seal(s, why);
    if (e)
        space_free(s);
    else
        *out = s;
    return e;
}

static enum err describe(const struct template *t, const struct workload *w, const struct device_desc *d,
                         const struct space *s, const struct config *c, struct program *p)
{
    struct buf text;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    if (workload_text(w, &text)) {
        buf_fini(&text);
        return ERR_NOMEM;
    }
    p->workload = buf_take(&text);
    p->template_id = strdup(t->id);
    p->template_version = t->version;
    cJSON_Delete(p->knobs);
    p->knobs = space_config_to_json(s, c);
    p->flops = p->flops_effective = w->op->flops(w);
    p->bytes_min = w->op->bytes_min(w);
    snprintf(p->numerics, sizeof p->numerics, "%s", dtype_name(w->dtype));
    snprintf(p->api, sizeof p->api, "%s", strcmp(d->api, "cuda") == 0 ? "cuda" : "opencl");
    snprintf(p->std, sizeof p->std, "CL1.2");
    return p->template_id && p->knobs ? ERR_OK : ERR_NOMEM;
}

enum err template_program(const struct template *t, const struct workload *w, const struct device_desc *d,
                          const struct space *s, const struct config *c, struct program *out, struct blobs *blobs,
                          struct why *why)
{
    const char *violated = NULL;
    enum err e;

    program_init(out);
    if (!space_config_in_range(s, c) || !space_is_valid(s, c, &violated))
        return why_set(why, ERR_INPUT, "%s: the config violates %s", t->id,
                       violated ? violated : "the lists of values");
    e = describe(t, w, d, s, c, out);
    if (!e)
        e = t->program(w, d, s, c, out, blobs, why);
    if (!e)
        e = w->op->expect(w, t->tolerance, out, blobs);
    return e ? e : program_check_sane(out, why);
}

void template_set_kernel_dir(const char *dir)
{
    snprintf(kernel_dir, sizeof kernel_dir, "%s", dir ? dir : "");
}

static enum err append_file(const char *name, struct buf *out)
{
    char path[PATH_MAX + 256];

    if (kernel_dir[0]) {
        snprintf(path, sizeof path, "%s/%s", kernel_dir, name);
        return file_read(path, out, NULL);
    }
    for (const struct embedded *f = embedded_kernels; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return buf_puts(out, f->text);
    return ERR_NOT_FOUND;
}

enum err kernel_text(const char *name, struct buf *out)
{
    enum err e = append_file("preamble.h", out);

    if (!e)
        e = buf_puts(out, "#line 1\n");
    return e ? e : append_file(name, out);
}
