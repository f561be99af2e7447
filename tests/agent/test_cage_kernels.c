/* SPDX-License-Identifier: MIT */
/* Kernels that attack, on PoCL in real children of a rig: their machine code calls the system. A kernel's answer is
 * right when its attack failed, so that trials are `ok` in the cage and `wrong` without one. */
#include "agent/cage.h"
#include "agent/child.h"
#include "agent/rig.h"
#include "both_users.h"
#include "core/file.h"
#include "samples.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define LIMITS "{\"build_s\":120,\"run_s\":5,\"memory_bytes\":1000000000}"

static struct rig rig;
static char tmp[512];

/* Of `path`, as text: one work item opens it. */
static void make_opener(char *out, size_t n_out, const char *path)
{
    snprintf(out, n_out,
             "__kernel void f(__global const float *x, __global float *y, int n)\n{\n"
             "    const int i = get_global_id(0);\n    long r = -1;\n    char path[] = \"%s\";\n"
             "    if (i == 0)\n        __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(2L), \"D\"(path), \"S\"(0L), "
             "\"d\"(0L) : \"rcx\", \"r11\", \"memory\");\n"
             "    y[i] = x[i] + (r >= 0 ? 99.0f : 1.0f);\n}\n",
             path);
}

static const char of_sockets[] =
    "__kernel void f(__global const float *x, __global float *y, int n)\n{\n"
    "    const int i = get_global_id(0);\n    long r = -1;\n"
    "    if (i == 0)\n        __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(41L), \"D\"(2L), \"S\"(1L), "
    "\"d\"(0L) : \"rcx\", \"r11\", \"memory\");\n"
    "    y[i] = x[i] + (r >= 0 ? 99.0f : 1.0f);\n}\n";

/* Ends the agent, whose number is %ld. */
static void make_killer(char *out, size_t n_out, long pid)
{
    snprintf(out, n_out,
             "__kernel void f(__global const float *x, __global float *y, int n)\n{\n"
             "    const int i = get_global_id(0);\n    long r = -1;\n"
             "    if (i == 0)\n        __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(62L), \"D\"(%ldL), \"S\"(0L) "
             ": \"rcx\", \"r11\", \"memory\");\n"
             "    y[i] = x[i] + (r >= 0 ? 99.0f : 1.0f);\n}\n",
             pid);
}

static void make_includer(char *out, size_t n_out, const char *path)
{
    snprintf(out, n_out,
             "#include \"%s\"\n__kernel void f(__global const float *x, __global float *y, int n)\n{\n"
             "    const int i = get_global_id(0);\n    y[i] = x[i] + 1.0f;\n}\n",
             path);
}

/* A kernel that attacks, and what its trial is in the cage and without one. */
struct attack {
    char source[1500];
    enum record_status caged, free, was_caged, was_free;
};

enum { READS_KEY, READS_SHADOW, CONNECTS, KILLS, INCLUDES, N_ATTACKS };

static struct attack attacks[N_ATTACKS];

static enum record_status status_of(int i, const char *cage)
{
    static const struct trial_agent self = {.name = "a0", .key = "k"};
    struct why why = {""};
    enum record_status status;
    struct sha256 name;
    struct trial *t = NULL;
    struct sample m;
    char text[800];
    cJSON *json;

    sample_make(&m, attacks[i].source, 64);
    name = sample_seal(&m);
    for (size_t k = 0; k < m.blobs.n; k++)
        assert_int_equal(workdir_put(&rig.dir, &m.blobs, m.blobs.items[k].name.hex, &why), ERR_OK);
    snprintf(text, sizeof text,
             "{\"trial\":\"t%d\",\"token\":%d,\"job\":\"j1\",\"program\":\"%s\",\"anchor\":\"\",\"body\":{\"timing\":"
             "{\"rounds\":2,\"min_slot_ms\":1},\"limits\":" LIMITS "}}",
             i + 1, i + 1, name.hex);
    json = cJSON_Parse(text);
    assert_int_equal(trial_new(json, &self, &t, &why), ERR_OK);
    cJSON_Delete(json);
    trial_take_program(t, blobs_get(&m.blobs, name.hex)->data, blobs_get(&m.blobs, name.hex)->n_bytes);
    rig_verify(&rig, 0, t);
    if (!t->finished)
        rig_time(&rig, &t, 1);
    status = t->record.status;
    print_message("  %s: %s %.200s\n", cage, status_name(status), t->record.why ? t->record.why : "");
    trial_free(t);
    sample_fini(&m);
    return status;
}

/* In the cage the attack fails, and only there. Without one they were tried, where a part of the cage is forbidden, by
 * the test that forbids none. */
static void expect_held(int i)
{
    if (!getenv("TUNE_FORBIDDEN"))
        assert_int_equal(attacks[i].was_free, attacks[i].free);
    assert_int_equal(attacks[i].was_caged, attacks[i].caged);
}

static void machine_code_reads_no_secret(void **state)
{
    (void)state;
    expect_held(READS_KEY);
    expect_held(READS_SHADOW);
}

static void machine_code_makes_no_connection(void **state)
{
    (void)state;
    expect_held(CONNECTS);
}

static void machine_code_reaches_no_agent(void **state)
{
    (void)state;
    expect_held(KILLS);
}

static void a_program_includes_no_file_of_the_agents_user(void **state)
{
    (void)state;
    expect_held(INCLUDES);
}

static void make_attacks(void)
{
    const size_t n = sizeof attacks[0].source;
    char path[600];

    for (int i = 0; i < N_ATTACKS; i++)
        attacks[i] = (struct attack){.caged = STATUS_OK, .free = STATUS_WRONG};
    snprintf(path, sizeof path, "%s/farm.key", tmp);
    make_opener(attacks[READS_KEY].source, n, path);
    make_opener(attacks[READS_SHADOW].source, n, "/etc/shadow");
    attacks[READS_SHADOW].free = geteuid() == 0 ? STATUS_WRONG : STATUS_OK;
    snprintf(attacks[CONNECTS].source, n, "%s", of_sockets);
    make_killer(attacks[KILLS].source, n, (long)getpid());
    snprintf(path, sizeof path, "%s/secret.h", tmp);
    make_includer(attacks[INCLUDES].source, n, path);
    attacks[INCLUDES].caged = STATUS_COMPILE;
    attacks[INCLUDES].free = STATUS_OK;
}

/* Each attack in one rig; leaves with 77 where its device is not PoCL. */
static void attack_in(const struct cage *cage)
{
    const struct rig_options o = {.device = "opencl", .cage = cage};
    struct why why = {""};

    if (rig_open(&rig, &o, false, &why) || !strstr(rig.desc.platform, "Portable Computing Language")) {
        print_message("skipped: no PoCL here %s\n", why.text);
        dir_remove(tmp);
        exit(77);
    }
    for (int i = 0; i < N_ATTACKS; i++) {
        if (cage)
            attacks[i].was_caged = status_of(i, "caged");
        else
            attacks[i].was_free = status_of(i, "free");
    }
    rig_close(&rig);
}

static int prepare(void **state)
{
    struct cage cage;
    char path[600];
    struct why why = {""};

    (void)state;
#ifndef __x86_64__
    print_message("skipped: these kernels' machine code is x86-64's\n");
    exit(77);
#endif
    if (dir_temporary("test-cage-kernels", tmp, sizeof tmp, &why))
        return -1;
    chmod(tmp, 0711); /* a user of its own goes through */
    setenv("TMPDIR", tmp, 1);
    setenv("TUNE_LOCK_DIR", tmp, 1);
    snprintf(path, sizeof path, "%s/secret.h", tmp);
    if (file_append(path, "/* ours */\n", 11, false, &why) || chmod(path, 0600))
        return -1;
    snprintf(path, sizeof path, "%s/farm.key", tmp);
    if (file_append(path, "secret", 6, false, &why) || chmod(path, 0600))
        return -1;
    make_attacks();
    if (!getenv("TUNE_FORBIDDEN"))
        attack_in(NULL);
    cage_plan(&cage, "");
    attack_in(&cage);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    dir_remove(tmp);
    return 0;
}

static int attack_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_code_reads_no_secret),
        cmocka_unit_test(machine_code_makes_no_connection),
        cmocka_unit_test(machine_code_reaches_no_agent),
        cmocka_unit_test(a_program_includes_no_file_of_the_agents_user),
    };

    print_message("user %d\n", (int)geteuid());
    return cmocka_run_group_tests(tests, prepare, clean);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    return as_both_users(argc, argv, attack_all);
}
