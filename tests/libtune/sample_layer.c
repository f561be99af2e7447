/* SPDX-License-Identifier: MIT */
#include "tests/libtune/sample_layer.h"

#include "kernels/template.h"
#include "runtime/device_desc.h"

#include <stdio.h>
#include <string.h>

static void describe_device(struct device_desc *d)
{
    memset(d, 0, sizeof *d);
    d->kind = DEVICE_CPU;
    (void)snprintf(d->api, sizeof d->api, "opencl");
    (void)snprintf(d->platform, sizeof d->platform, "sample platform");
    (void)snprintf(d->platform_version, sizeof d->platform_version, "OpenCL 1.2");
    (void)snprintf(d->vendor, sizeof d->vendor, "sample");
    (void)snprintf(d->name, sizeof d->name, "sample device");
    (void)snprintf(d->driver, sizeof d->driver, "1.0");
    d->units = d->threads = 1;
    d->max_work_group = 4096;
    d->max_local[0] = d->max_local[1] = d->max_local[2] = 4096;
    d->local_bytes = d->constant_bytes = 1 << 18;
    d->global_bytes = d->max_alloc_bytes = INT64_C(1) << 32;
    d->vector_bits = 256;
    d->shares_host = true;
}

static bool measured(const struct program *p, const struct device_desc *d, struct record *r)
{
    r->status = STATUS_OK;
    r->time_ns = 1e6;
    r->flops = p->flops;
    r->rounds = r->calls = 5;
    r->knobs = cJSON_Duplicate(p->knobs, 1);
    r->device = device_desc_to_json(d);
    r->fingerprint = device_desc_fingerprint(d);
    (void)snprintf(r->purpose, sizeof r->purpose, "final");
    (void)snprintf(r->proposed_by, sizeof r->proposed_by, "init");
    (void)snprintf(r->key, sizeof r->key, "sample-cpu");
    return r->knobs != NULL && r->device != NULL && program_hash(p, &r->program) == ERR_OK;
}

bool sample_record(const char *workload, const char *template_id, struct record *out)
{
    struct why why = {""};
    struct workload w;
    struct device_desc d;
    struct space *s = NULL;
    struct config c;
    struct program p;
    struct blobs blobs;
    const struct template *t = template_find(template_id);

    record_init(out);
    program_init(&p);
    blobs_init(&blobs, (size_t)1 << 28);
    describe_device(&d);
    bool ok = t != NULL && workload_parse(workload, &w, &why) == ERR_OK &&
              template_space(t, &w, &d, &s, &why) == ERR_OK && t->fallback(&w, &d, s, &c) == ERR_OK &&
              template_program(t, &w, &d, s, &c, &p, &blobs, &why) == ERR_OK;
    if (ok) {
        (void)snprintf(out->template_id, sizeof out->template_id, "%s", template_id);
        out->template_version = t->version;
        out->workload = strdup(p.workload);
        ok = out->workload != NULL && measured(&p, &d, out);
    } else {
        fprintf(stderr, "sample_record: %s\n", why.text);
    }
    space_free(s);
    program_fini(&p);
    blobs_fini(&blobs);
    return ok;
}
