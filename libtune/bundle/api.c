/* SPDX-License-Identifier: MIT */
/* ---- functions ---- */

static struct {
    struct EXECUTOR() * session; /* NULL = not open */
    struct EXECUTOR(_op) * ops[N_PLANS];
    void (*end)(void);   /* closes the whole network; NULL = there is none */
    unsigned generation; /* goes up with every NAME_init: weights of an earlier one are refused */
    struct exec_words words;
} bundle;

struct NAME_weights {
    struct EXECUTOR(_weights) * packed;
    int i_plan;
    unsigned generation;
};

const struct NAME_layer *NAME_find(const char *workload)
{
    for (int i = 0; workload && i < CAPS_N_LAYERS; i++)
        if (strcmp(NAME_layers[i].workload, workload) == 0)
            return &NAME_layers[i];
    return NULL;
}

const char *NAME_words(void)
{
    return bundle.words.text;
}

void NAME_fini(void)
{
    if (bundle.end)
        bundle.end();
    for (int i = 0; i < N_PLANS; i++) {
        EXECUTOR(_op_close)(bundle.ops[i]);
        bundle.ops[i] = NULL;
    }
    EXECUTOR(_close)(bundle.session);
    bundle.session = NULL;
}

/* The op of a plan, opened when it is first asked for. */
static int bundle_op(int i_plan, struct EXECUTOR(_op) * *out)
{
    enum exec_status status = EXEC_OK;
    if (!bundle.session)
        return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "NAME is not open: call NAME_init first");
    if (!bundle.ops[i_plan])
        status = EXECUTOR(_op_open)(bundle.session, &plans[i_plan], &bundle.words, &bundle.ops[i_plan]);
    *out = bundle.ops[i_plan];
    return status;
}

/* The op of a layer and an object for its weights, which free() frees. */
static int bundle_begin_pack(const struct NAME_layer *layer, struct NAME_weights **out, struct EXECUTOR(_op) * *op,
                             struct NAME_weights **w)
{
    int status;
    if (!layer || !out)
        return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "expected a layer and a place for its packed weights");
    status = bundle_op(layer->i_plan, op);
    if (status != EXEC_OK)
        return status;
    *w = calloc(1, sizeof **w);
    if (!*w)
        return exec_fail(&bundle.words, EXEC_NO_MEMORY, "out of memory");
    (*w)->i_plan = layer->i_plan;
    (*w)->generation = bundle.generation;
    return EXEC_OK;
}

static int bundle_begin_run(const struct NAME_layer *layer, const struct NAME_weights *weights,
                            struct EXECUTOR(_op) * *op)
{
    int status =
        layer ? bundle_op(layer->i_plan, op) : (int)exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "expected a layer");
    if (status != EXEC_OK)
        return status;
    if (!weights || weights->i_plan != layer->i_plan || weights->generation != bundle.generation) {
        return exec_fail(&bundle.words, EXEC_NOT_PACKED, "%s: expected weights that NAME_%s_pack gave", layer->name,
                         layer->name);
    }
    return EXEC_OK;
}

void NAME_weights_free(struct NAME_weights *weights)
{
    if (weights) {
        EXECUTOR(_weights_free)(weights->packed);
        free(weights);
    }
}
