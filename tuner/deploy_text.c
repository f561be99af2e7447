/* deploy_text.c - writes tune_bundle.h and tune_bundle.c. Functions append to a buffer, whose error is sticky. */
#include "tuner/deploy_text.h"

#include <math.h>
#include <string.h>

void deploy_text_literal(const char *text, size_t n, struct buf *out)
{
    buf_puts(out, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n') {
            buf_puts(out, "\\n");
        } else if (c == '"' || c == '\\') {
            buf_printf(out, "\\%c", c);
        } else if (c == '?' || c < 0x20 || c > 0x7e) { /* '?': no trigraphs */
            buf_printf(out, "\\%03o", c);
        } else {
            buf_append(out, &text[i], 1);
        }
    }
    buf_puts(out, "\"");
}

static void literal(const char *text, struct buf *out)
{
    deploy_text_literal(text, strlen(text), out);
}

/* ---- header ---- */

static bool is_caller_tensor(const struct program_buffer *b)
{
    return b->role == ROLE_INPUT || b->role == ROLE_WEIGHT || b->role == ROLE_OUTPUT;
}

static const char *c_type(enum dtype t)
{
    static const char *const types[N_DTYPES] = {[DTYPE_F32] = "float",
                                                [DTYPE_F16] = "uint16_t",
                                                [DTYPE_I8] = "int8_t",
                                                [DTYPE_I32] = "int32_t",
                                                [DTYPE_U8] = "uint8_t"};
    return types[t];
}

static void parameters(const struct program *p, enum buffer_role role, const char *qualifier, struct buf *out)
{
    for (size_t i = 0; i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        if (b->role == role) {
            buf_printf(out, ", %s%s *%s", qualifier, c_type(b->dtype), b->id);
        }
    }
}

static void prototype_open(const struct deploy_layer *l, struct buf *out)
{
    buf_printf(out, "enum tune_status tune_%s_open(struct tune_context *context", l->symbol);
    parameters(&l->program, ROLE_WEIGHT, "const ", out);
    buf_puts(out, ", struct tune_op **op)");
}

static void prototype_run(const struct deploy_layer *l, struct buf *out)
{
    buf_printf(out, "enum tune_status tune_%s(struct tune_op *op", l->symbol);
    parameters(&l->program, ROLE_INPUT, "const ", out);
    parameters(&l->program, ROLE_OUTPUT, "", out);
    buf_puts(out, ")");
}

static void describe_tensors(const struct program *p, struct buf *out)
{
    for (size_t i = 0; i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        if (!is_caller_tensor(b)) {
            continue;
        }
        buf_printf(out, " *   %s: %s %s [", b->id, dtype_name(b->dtype), b->layout);
        for (int d = 0; d < b->n_dims; d++) {
            buf_printf(out, "%s%lld", d > 0 ? "," : "", (long long)b->shape[d]);
        }
        buf_puts(out, "]\n");
    }
}

enum err deploy_text_header(const struct deploy_layer *layers, size_t n, struct buf *out)
{
    buf_puts(out, "/* tune_bundle.h - tuned layers, written by `tune deploy`. For each workload two functions:\n"
                  " * tune_X_open builds its kernels and packs its weights, once; tune_X computes its outputs from its "
                  "inputs, with\n"
                  " * tensors in host memory. tune_layer.h has the parts: device buffers, separate steps, the caller's "
                  "own queue. */\n"
                  "#ifndef TUNE_BUNDLE_H\n#define TUNE_BUNDLE_H\n\n#include \"tune_layer.h\"\n\n"
                  "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    buf_printf(out, "#define TUNE_BUNDLE_LAYERS %zu\n\n", n);
    buf_puts(
        out,
        "/* The layers of the bundle. */\nextern const struct tune_layer tune_bundle_layers[TUNE_BUNDLE_LAYERS];\n\n"
        "/* The layer of a workload's text; NULL when the bundle has no tuned kernel for it. */\n"
        "const struct tune_layer *tune_bundle_find(const char *workload);\n");
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "\n/* %s\n", layers[i].record.workload);
        describe_tensors(&layers[i].program, out);
        buf_printf(out, " * %s, %.1f GFLOPS when it was tuned. */\n", layers[i].program.template_id,
                   record_gflops(&layers[i].record));
        prototype_open(&layers[i], out);
        buf_puts(out, ";\n");
        prototype_run(&layers[i], out);
        buf_puts(out, ";\n");
    }
    buf_puts(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    return out->failed;
}

/* ---- tables ---- */

static void source_lines(size_t i_layer, size_t i_module, const struct blob *source, struct buf *out)
{
    const char *at = (const char *)source->data, *end = at + source->n_bytes;
    buf_printf(out, "static const char *l%zu_text%zu[] = {\n", i_layer, i_module);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline != NULL ? newline + 1 : end;
        buf_puts(out, "    ");
        deploy_text_literal(at, (size_t)(next - at), out);
        buf_puts(out, ",\n");
        at = next;
    }
    buf_puts(out, "};\n");
}

/* Options as the measuring device gave them to the compiler: standard, own options, defines. */
static void module_options(const struct program *p, const struct program_module *m, struct buf *out)
{
    const char *own = m->options != NULL ? m->options : "";
    if (p->std[0] != '\0' && strstr(own, "-cl-std") == NULL) {
        buf_printf(out, "-cl-std=%s ", p->std);
    }
    buf_puts(out, own);
    for (size_t i = 0; i < m->n_defines; i++) {
        buf_printf(out, " -D %s=%s", m->defines[i].name, m->defines[i].value);
    }
}

static enum err modules(size_t i_layer, const struct deploy_layer *l, struct buf *out, struct why *why)
{
    const struct program *p = &l->program;
    for (size_t i = 0; i < p->n_modules; i++) {
        const struct blob *source = blobs_get(&l->blobs, p->modules[i].source.hex);
        if (p->modules[i].lang != LANG_OPENCL_C || source == NULL) {
            return why_set(why, ERR_UNSUPPORTED, "%s: module %s is not OpenCL C text", p->workload, p->modules[i].id);
        }
        source_lines(i_layer, i, source, out);
    }
    buf_printf(out, "static const struct tune_plan_module l%zu_modules[] = {\n", i_layer);
    for (size_t i = 0; i < p->n_modules; i++) {
        struct buf options;
        buf_init(&options, 65536);
        module_options(p, &p->modules[i], &options);
        buf_printf(out, "    {l%zu_text%zu, (int)(sizeof l%zu_text%zu / sizeof l%zu_text%zu[0]), ", i_layer, i, i_layer,
                   i, i_layer, i);
        literal(buf_text(&options), out);
        buf_puts(out, "},\n");
        buf_fini(&options);
    }
    buf_puts(out, "};\n");
    return ERR_OK;
}

static void blob_bytes(size_t i_layer, size_t i_buffer, const struct blob *b, struct buf *out)
{
    buf_printf(out, "static const unsigned char l%zu_bytes%zu[] = {", i_layer, i_buffer);
    for (size_t i = 0; b != NULL && i < b->n_bytes; i++) {
        buf_printf(out, "%s%u,", i % 24 == 0 ? "\n    " : "", b->data[i]);
    }
    buf_puts(out, "\n};\n");
}

/* The rule of a buffer that is not the caller's: what must be in it before a run. */
static void buffer_fill(size_t i_layer, size_t i_buffer, const struct program_buffer *b, struct buf *out)
{
    unsigned char pattern[8] = {0};
    if (!is_caller_tensor(b) && b->fill.kind == FILL_BLOB) {
        buf_printf(out, "TUNE_FILL_BYTES, {0}, 0, l%zu_bytes%zu, %d", i_layer, i_buffer, b->reset_each_run);
    } else if (!is_caller_tensor(b) && (b->fill.kind == FILL_ZERO || b->fill.kind == FILL_VALUE)) {
        dtype_store(b->dtype, pattern, 0, b->fill.kind == FILL_VALUE ? b->fill.lo : 0.0);
        buf_printf(out, "TUNE_FILL_VALUE, {%u, %u, %u, %u}, %zu, NULL, %d", pattern[0], pattern[1], pattern[2],
                   pattern[3], dtype_bytes(b->dtype), b->reset_each_run);
    } else {
        buf_puts(out, "TUNE_FILL_NONE, {0}, 0, NULL, 0");
    }
}

static void buffers(size_t i_layer, const struct deploy_layer *l, struct buf *out)
{
    const struct program *p = &l->program;
    for (size_t i = 0; i < p->n_buffers; i++) {
        if (!is_caller_tensor(&p->buffers[i]) && p->buffers[i].fill.kind == FILL_BLOB) {
            blob_bytes(i_layer, i, blobs_get(&l->blobs, p->buffers[i].fill.blob.hex), out);
        }
    }
    buf_printf(out, "static const struct tune_plan_buffer l%zu_buffers[] = {\n", i_layer);
    for (size_t i = 0; i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        buf_puts(out, "    {");
        literal(b->id, out);
        buf_printf(out, ", %lluu, ", (unsigned long long)b->n_elems * dtype_bytes(b->dtype));
        buffer_fill(i_layer, i, b, out);
        buf_puts(out, "},\n");
    }
    buf_puts(out, "};\n");
}

static void launch_args(size_t i_layer, size_t i_launch, const struct program_launch *l, struct buf *out)
{
    static const char *const kinds[N_ARGS] = {
        [ARG_BUFFER] = "TUNE_ARG_BUFFER", [ARG_I32] = "TUNE_ARG_I32", [ARG_U32] = "TUNE_ARG_U32",
        [ARG_I64] = "TUNE_ARG_I64",       [ARG_F32] = "TUNE_ARG_F32", [ARG_LOCAL] = "TUNE_ARG_LOCAL"};
    buf_printf(out, "static const struct tune_plan_arg l%zu_args%zu[] = {\n", i_layer, i_launch);
    for (size_t i = 0; i < l->n_args; i++) {
        const struct program_arg *a = &l->args[i];
        long long number = a->kind == ARG_BUFFER ? (long long)a->i_buffer : (long long)a->integer;
        buf_printf(out, "    {%s, %lld, %.17g, {%lld, %lld, %lld}},\n", kinds[a->kind], a->kind == ARG_F32 ? 0 : number,
                   a->real, (long long)a->bump[0], (long long)a->bump[1], (long long)a->bump[2]);
    }
    buf_puts(out, l->n_args == 0 ? "    {TUNE_ARG_I32, 0, 0, {0, 0, 0}},\n};\n" : "};\n");
}

static void launches(size_t i_layer, const struct program *p, struct buf *out)
{
    static const char *const ops[N_LAUNCH_OPS] = {
        [LAUNCH_KERNEL] = "TUNE_OP_KERNEL", [LAUNCH_FILL] = "TUNE_OP_FILL", [LAUNCH_COPY] = "TUNE_OP_COPY"};
    for (size_t i = 0; i < p->n_launches; i++) {
        launch_args(i_layer, i, &p->launches[i], out);
    }
    buf_printf(out, "static const struct tune_plan_launch l%zu_launches[] = {\n", i_layer);
    for (size_t i = 0; i < p->n_launches; i++) {
        const struct program_launch *l = &p->launches[i];
        if (l->phase == PHASE_REFERENCE) {
            continue;
        }
        buf_printf(out, "    {%s, %d, %d, ", ops[l->op], l->phase == PHASE_PACK, l->i_module);
        literal(l->kernel, out);
        buf_printf(out, ", {%lld, %lld, %lld}, {%lld, %lld, %lld}, l%zu_args%zu, %zu},\n", (long long)l->grid[0],
                   (long long)l->grid[1], (long long)l->grid[2], (long long)l->block[0], (long long)l->block[1],
                   (long long)l->block[2], i_layer, i, l->n_args);
    }
    buf_puts(out, "};\n");
}

/* Index of a launch among those that the bundle has. */
static int bundled_index(const struct program *p, int i_launch)
{
    int n = 0;
    for (int i = 0; i < i_launch; i++) {
        n += p->launches[i].phase != PHASE_REFERENCE;
    }
    return n;
}

static void loops(size_t i_layer, const struct program *p, struct buf *out)
{
    buf_printf(out, "static const struct tune_plan_loop l%zu_loops[] = {\n", i_layer);
    for (size_t i = 0; i < p->n_loops; i++) {
        const struct program_loop *l = &p->loops[i];
        if (p->launches[l->first].phase != PHASE_REFERENCE) {
            buf_printf(out, "    {%d, %d, %lld},\n", bundled_index(p, l->first), bundled_index(p, l->last),
                       (long long)l->count);
        }
    }
    buf_puts(out, "    {0, 0, 0},\n};\n");
}

static void tensors(size_t i_layer, const struct program *p, struct buf *out)
{
    static const char *const roles[N_ROLES] = {
        [ROLE_INPUT] = "TUNE_INPUT", [ROLE_WEIGHT] = "TUNE_WEIGHT", [ROLE_OUTPUT] = "TUNE_OUTPUT"};
    buf_printf(out, "static const struct tune_tensor l%zu_tensors[] = {\n", i_layer);
    for (size_t i = 0; i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        if (!is_caller_tensor(b)) {
            continue;
        }
        buf_printf(out, "    {\"%s\", \"%s\", \"%s\", %s, %d, {", b->id, dtype_name(b->dtype), b->layout,
                   roles[b->role], b->n_dims);
        for (int d = 0; d < b->n_dims; d++) {
            buf_printf(out, "%s%lld", d > 0 ? ", " : "", (long long)b->shape[d]);
        }
        buf_printf(out, "%s}, %lluu},\n", b->n_dims == 0 ? "0" : "",
                   (unsigned long long)b->n_elems * dtype_bytes(b->dtype));
    }
    buf_puts(out, "};\n");
}

#define LENGTH "(int)(sizeof l%zu_%s / sizeof l%zu_%s[0])"

static void plan(size_t i, struct buf *out)
{
    buf_printf(out,
               "static const struct tune_plan l%zu_plan = {l%zu_modules, " LENGTH ", l%zu_buffers, " LENGTH
               ", l%zu_launches, " LENGTH ", l%zu_loops, " LENGTH " - 1};\n\n",
               i, i, i, "modules", i, "modules", i, i, "buffers", i, "buffers", i, i, "launches", i, "launches", i, i,
               "loops", i, "loops");
}

static void knobs_text(const cJSON *knobs, struct buf *out)
{
    const cJSON *k;
    cJSON_ArrayForEach(k, knobs)
    {
        if (cJSON_IsString(k)) {
            buf_printf(out, "%s%s=%s", out->len > 0 ? " " : "", k->string, k->valuestring);
        } else {
            buf_printf(out, "%s%s=%.17g", out->len > 0 ? " " : "", k->string, k->valuedouble);
        }
    }
}

static void comma_literal(const char *text, struct buf *out)
{
    literal(text, out);
    buf_puts(out, ", ");
}

static void layer_entry(size_t i, const struct deploy_layer *l, struct buf *out)
{
    const struct record *r = &l->record;
    struct buf knobs;
    buf_init(&knobs, 65536);
    knobs_text(r->knobs, &knobs);
    buf_puts(out, "    {");
    comma_literal(r->workload, out);
    comma_literal(l->symbol, out);
    comma_literal(r->template_id, out);
    buf_printf(out, "%lld, ", (long long)r->template_version);
    comma_literal(buf_text(&knobs), out);
    comma_literal(r->program.hex, out);
    comma_literal(l->device.name, out);
    comma_literal(r->fingerprint.hex, out);
    comma_literal(status_name(r->status), out);
    comma_literal(r->purpose, out);
    comma_literal(r->proposed_by, out);
    buf_printf(out, "%.17g, %.17g, %.6g, l%zu_tensors, " LENGTH ", &l%zu_plan},\n", r->flops, r->time_ns,
               record_gflops(r), i, i, "tensors", i, "tensors", i);
    buf_fini(&knobs);
}

/* ---- functions ---- */

static void transfers(const struct program *p, enum buffer_role role, const char *verb, struct buf *out)
{
    for (size_t i = 0; i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        if (b->role == role) {
            buf_printf(out, "    s = s == TUNE_OK ? tune_op_%s(op, \"%s\", %s, %lluu) : s;\n", verb, b->id, b->id,
                       (unsigned long long)b->n_elems * dtype_bytes(b->dtype));
        }
    }
}

static void functions(size_t i, const struct deploy_layer *l, struct buf *out)
{
    buf_puts(out, "\n");
    prototype_open(l, out);
    buf_printf(
        out,
        "\n{\n    struct tune_op *opened = NULL;\n    enum tune_status s;\n    if (op == NULL) {\n"
        "        return TUNE_BAD_ARGUMENT;\n    }\n    s = tune_op_open(context, &tune_bundle_layers[%zu], &opened);\n",
        i);
    for (size_t j = 0; j < l->program.n_buffers; j++) {
        const struct program_buffer *b = &l->program.buffers[j];
        if (b->role == ROLE_WEIGHT) {
            buf_printf(out, "    s = s == TUNE_OK ? tune_op_write(opened, \"%s\", %s, %lluu) : s;\n", b->id, b->id,
                       (unsigned long long)b->n_elems * dtype_bytes(b->dtype));
        }
    }
    buf_puts(
        out,
        "    s = s == TUNE_OK ? tune_op_pack(opened) : s;\n    if (s != TUNE_OK) {\n        tune_op_close(opened);\n"
        "        return s;\n    }\n    *op = opened;\n    return TUNE_OK;\n}\n\n");
    prototype_run(l, out);
    buf_puts(out, "\n{\n    enum tune_status s = op != NULL ? TUNE_OK : TUNE_BAD_ARGUMENT;\n");
    transfers(&l->program, ROLE_INPUT, "write", out);
    buf_puts(out, "    s = s == TUNE_OK ? tune_op_run(op) : s;\n");
    transfers(&l->program, ROLE_OUTPUT, "read", out);
    buf_puts(out, "    return s;\n}\n");
}

enum err deploy_text_tables(const struct deploy_layer *layers, size_t n, struct buf *out, struct why *why)
{
    buf_puts(
        out,
        "/* tune_bundle.c - tuned layers as constant tables, written by `tune deploy`. */\n#include \"tune_bundle.h\"\n"
        "#include \"tune_plan.h\"\n\n#include <string.h>\n\n");
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "/* ---- %s ---- */\n\n", layers[i].record.workload);
        enum err e = modules(i, &layers[i], out, why);
        if (e != ERR_OK) {
            return e;
        }
        buffers(i, &layers[i], out);
        launches(i, &layers[i].program, out);
        loops(i, &layers[i].program, out);
        tensors(i, &layers[i].program, out);
        plan(i, out);
    }
    buf_puts(out, "const struct tune_layer tune_bundle_layers[TUNE_BUNDLE_LAYERS] = {\n");
    for (size_t i = 0; i < n; i++) {
        layer_entry(i, &layers[i], out);
    }
    buf_puts(out, "};\n\nconst struct tune_layer *tune_bundle_find(const char *workload)\n{\n    size_t i;\n"
                  "    for (i = 0; workload != NULL && i < TUNE_BUNDLE_LAYERS; i++) {\n"
                  "        if (strcmp(tune_bundle_layers[i].workload, workload) == 0) {\n"
                  "            return &tune_bundle_layers[i];\n        }\n    }\n    return NULL;\n}\n");
    for (size_t i = 0; i < n; i++) {
        functions(i, &layers[i], out);
    }
    return out->failed;
}
