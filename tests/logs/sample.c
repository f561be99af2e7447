/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *samples(double first, size_t n)
{
    double *s = malloc(n * sizeof *s);

    if (!s)
        abort();
    for (size_t i = 0; i < n; i++)
        s[i] = first + (double)i / 3;
    return s;
}

static struct sha256 hash_of(char digit)
{
    struct sha256 h = {""};

    memset(h.hex, digit, SHA256_HEX);
    return h;
}

struct record sample_record(const char *id)
{
    struct record r;

    record_init(&r);
    snprintf(r.id, sizeof r.id, "%s", id);
    strcpy(r.job, "j12");
    strcpy(r.purpose, "search");
    r.workload = strdup("dense f32 m=64 n=2048 k=512");
    strcpy(r.template_id, "dense/gemm_direct");
    r.template_version = 3;
    r.knobs = cJSON_Parse("{\"vc\":4,\"ratio\":0.1,\"order\":\"hwc\"}");
    r.status = STATUS_OK;
    r.time_ns = 1234567.0 + 1.0 / 3;
    r.lnratio = -0.10000000000000003;
    r.se = 0.0012;
    r.rounds = 5;
    r.calls = 15;
    r.n_samples = 5;
    r.samples_ns = samples(1.2e6, 5);
    r.anchor = (struct record_anchor){hash_of('a'), 1, 0.25, samples(1.4e6, 3), 3, samples(1.39e6, 6), 6};
    r.canary_before = 1000.5;
    r.canary_after = 1001;
    r.n_canary = 5;
    r.canary_ns = samples(1000, 5);
    r.pack_ns = 12345.5;
    strcpy(r.tune, "0.2.0+49a03006ab12");
    r.build_ms = 531.25;
    r.verify_ms = 7;
    r.device_ms = 90.125;
    r.wait_ms = 0.5;
    r.flops = 134217728;
    strcpy(r.proposed_by, "model");
    r.program = hash_of('b');
    r.fingerprint = hash_of('c');
    r.device = cJSON_Parse("{\"name\":\"cpu\",\"load\":0.4,\"clocks\":{\"mhz\":[2500,2600]}}");
    strcpy(r.protocol, "rounds-1");
    strcpy(r.key, "local-cpu");
    strcpy(r.agent, "host-1");
    r.seed = 7;
    r.ts_ms = 1790000000000;
    if (!r.workload || !r.knobs || !r.device)
        abort();
    return r;
}

struct record sample_timed(const char *workload, char fingerprint, const char *job, const char *purpose, char program,
                           double time_ns)
{
    struct record r;

    record_init(&r);
    snprintf(r.id, sizeof r.id, "t%c", program);
    snprintf(r.job, sizeof r.job, "%s", job);
    snprintf(r.purpose, sizeof r.purpose, "%s", purpose);
    r.workload = strdup(workload);
    strcpy(r.template_id, "dense/gemm_direct");
    r.knobs = cJSON_CreateObject();
    r.time_ns = time_ns;
    r.program = hash_of(program);
    r.fingerprint = hash_of(fingerprint);
    if (!r.workload || !r.knobs)
        abort();
    return r;
}
