/* SPDX-License-Identifier: MIT */
#include "tests/tracker/build_peers.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

void runner(struct rig *rig, const char *agent, const char *key, const char *arch, bool builds)
{
    rig_do(rig, "agent_register",
           "{'agent':'%s','nonce':'n','key':'%s','fingerprint':'%s','device':{'name':'x'},'arch':'%s','builds':%s}",
           agent, key, hash_of(-1), arch, builds ? "true" : "false");
}

void builder(struct rig *rig, const char *agent, const char *nonce, const char *arch)
{
    rig_do(rig, "builder_register",
           "{'agent':'%s','nonce':'%s','arches':['%s','sm_other'],'compiler':'NVRTC 12.9','version':'x'}", agent, nonce,
           arch);
}

void submit(struct rig *rig, const char *key, char job[24])
{
    cJSON *r = rig_must(rig, "job_submit", "{'title':'t','user':'u','key':'%s','body':'b','lease':true}", key);

    snprintf(job, 24, "%s", text_in(r, "job"));
    cJSON_Delete(r);
}

void add(struct rig *rig, const char *job, const char *key, int n, int program, int anchor)
{
    rig_do(rig, "trial_add",
           "{'job':'%s','token':1,'trials':[{'n':%d,'key':'%s','fingerprint':'%s','program':'%s','anchor':'%s',"
           "'purpose':'search','protocol':'rounds-1','body':{'seed':%d}}]}",
           job, n, key, hash_of(-1), hash_of(program), anchor ? hash_of(anchor) : "", n);
}

cJSON *builds_of(struct rig *rig, const char *agent, int n_expected)
{
    cJSON *r = rig_must(rig, "build_lease", "{'agent':'%s','max':4}", agent);

    assert_int_equal(count_in(r, "builds"), n_expected);
    return r;
}

cJSON *trials_of(struct rig *rig, const char *agent, int n_expected)
{
    cJSON *r = rig_must(rig, "trial_lease", "{'agent':'%s','max':4}", agent);

    assert_int_equal(count_in(r, "trials"), n_expected);
    return r;
}

bool answer(struct rig *rig, const char *program, const char *arch, const char *status, const char *words)
{
    cJSON *r =
        rig_must(rig, "build_result", "{'program':'%s','arch':'%s','status':'%s','blobs':[],'body':{'words':'%s'}}",
                 program, arch, status, words);
    const bool accepted = number_in(r, "accepted");

    cJSON_Delete(r);
    return accepted;
}

const char *words_of(const cJSON *trials, const char *part)
{
    const cJSON *built = cJSON_GetObjectItem(item_in(trials, "trials", 0), "built");

    assert_non_null(built);
    return text_in(cJSON_GetObjectItem(built, part), "words");
}

void expect_nothing(struct rig *rig, const char *agent)
{
    cJSON_Delete(trials_of(rig, agent, 0));
}
