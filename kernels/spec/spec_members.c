/* SPDX-License-Identifier: MIT */
/* spec_members.c - the members that objects of a job file may have: one that nobody knows, or that is there twice, is
 * refused by name, since "Conditons" would drop all conditions without a word. */
#include "kernels/spec/spec_private.h"

#include "core/nearest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MAX_MEMBERS 32
#define WHERE_BYTES 240

/* `inner` is what a member's object, or each object of its array, may hold; NULL = not looked into. */
struct known_object {
    struct {
        const char *name;
        const struct known_object *inner;
    } members[MAX_MEMBERS];
};

static const struct known_object parameter = {{{"Name", NULL}, {"Type", NULL}, {"Values", NULL}, {"Default", NULL}}};
static const struct known_object condition = {{{"Expression", NULL}, {"Parameters", NULL}}};
static const struct known_object space = {{{"TuningParameters", &parameter}, {"Conditions", &condition}}};
static const struct known_object budget = {{{"Type", NULL}, {"BudgetValue", NULL}}};
static const struct known_object dims = {{{"X", NULL}, {"Y", NULL}, {"Z", NULL}}};
static const struct known_object argument = {{{"Name", NULL},
                                              {"Type", NULL},
                                              {"TypeSize", NULL},
                                              {"Size", NULL},
                                              {"FillType", NULL},
                                              {"FillValue", NULL},
                                              {"DataSource", NULL},
                                              {"RandomSeed", NULL},
                                              {"AccessType", NULL},
                                              {"MemoryType", NULL},
                                              {"MemType", NULL},
                                              {"Output", NULL}}};
static const struct known_object expected = {{{"Name", NULL},
                                              {"TargetName", NULL},
                                              {"FillType", NULL},
                                              {"FillValue", NULL},
                                              {"DataSource", NULL},
                                              {"RandomSeed", NULL},
                                              {"ValidationMethod", NULL},
                                              {"ValidationThreshold", NULL}}};
static const struct known_object reference = {{{"KernelFile", NULL},
                                               {"KernelName", NULL},
                                               {"KernelTypeNames", NULL},
                                               {"CompilerOptions", NULL},
                                               {"GlobalSize", &dims},
                                               {"GlobalSizeType", NULL},
                                               {"LocalSize", &dims},
                                               {"SharedMemory", NULL},
                                               {"Configuration", NULL},
                                               {"ValidationMethod", NULL},
                                               {"ValidationThreshold", NULL}}};
/* BenchmarkName, Stream, Misc, Device, Profiling and SimulationInput say nothing to us; files of others have them. */
static const struct known_object kernel = {{{"Language", NULL},
                                            {"KernelFile", NULL},
                                            {"KernelName", NULL},
                                            {"KernelTypeNames", NULL},
                                            {"CompilerOptions", NULL},
                                            {"Defines", NULL},
                                            {"ProblemSize", NULL},
                                            {"GlobalSize", &dims},
                                            {"GlobalSizeType", NULL},
                                            {"LocalSize", &dims},
                                            {"GridDivX", NULL},
                                            {"GridDivY", NULL},
                                            {"GridDivZ", NULL},
                                            {"SharedMemory", NULL},
                                            {"Arguments", &argument},
                                            {"ReferenceArguments", &expected},
                                            {"ReferenceKernel", &reference},
                                            {"Operations", NULL},
                                            {"ValidationMethod", NULL},
                                            {"ValidationThreshold", NULL},
                                            {"BenchmarkName", NULL},
                                            {"Stream", NULL},
                                            {"Misc", NULL},
                                            {"Device", NULL},
                                            {"Profiling", NULL},
                                            {"SimulationInput", NULL}}};
static const struct known_object job = {{{"General", NULL},
                                         {"ConfigurationSpace", &space},
                                         {"KernelSpecification", &kernel},
                                         {"Search", NULL},
                                         {"Budget", &budget},
                                         {"Metrics", NULL},
                                         {"BenchmarkConfig", NULL},
                                         {"tune", NULL}}};

static enum err unknown_member(const struct known_object *known, const char *path, const char *name, struct why *why)
{
    const char *names[MAX_MEMBERS], *nearest;
    const char *dot = *path ? "." : "";
    size_t n = 0;

    for (; n < MAX_MEMBERS && known->members[n].name; n++)
        names[n] = known->members[n].name;
    nearest = nearest_name(name, names, n);
    if (nearest)
        return why_set(why, ERR_INPUT, "%s%s%.60s: unknown member (did you mean %s?)", path, dot, name, nearest);
    return why_set(why, ERR_INPUT, "%s%s%.60s: unknown member; a name that begins with _ is a remark", path, dot, name);
}

/* JSON lets an object have a name twice, and readers differ in which of them counts: Conditions in two places would be
 * half of them, without a word. */
static bool is_named_again(const cJSON *item)
{
    for (const cJSON *k = item->next; k; k = k->next)
        if (strcmp(k->string, item->string) == 0)
            return true;
    return false;
}

static enum err check_object(const cJSON *object, const struct known_object *known, const char *path, struct why *why);

/* What a known member holds: an object, or an array of them; anything else is for its reader to judge. */
static enum err check_inner(const cJSON *item, const struct known_object *known, const char *path, struct why *why)
{
    const cJSON *element;
    size_t i = 0;
    enum err e = ERR_OK;

    if (!cJSON_IsArray(item))
        return check_object(item, known, path, why);
    cJSON_ArrayForEach(element, item)
    {
        char inner[WHERE_BYTES];

        snprintf(inner, sizeof inner, "%.150s[%zu]", path, i++);
        if (!e)
            e = check_object(element, known, inner, why);
    }
    return e;
}

static enum err check_object(const cJSON *object, const struct known_object *known, const char *path, struct why *why)
{
    const cJSON *item;
    enum err e = ERR_OK;

    for (item = cJSON_IsObject(object) ? object->child : NULL; item && !e; item = item->next) {
        char inner[WHERE_BYTES];
        size_t i = 0;

        if (item->string[0] == '_' || item->string[0] == '$')
            continue;
        while (i < MAX_MEMBERS && known->members[i].name && strcmp(known->members[i].name, item->string) != 0)
            i++;
        if (i == MAX_MEMBERS || !known->members[i].name)
            return unknown_member(known, path, item->string, why);
        if (is_named_again(item))
            return why_set(why, ERR_INPUT, "%s%s%.60s: the member is there twice: expected it once", path,
                           *path ? "." : "", item->string);
        snprintf(inner, sizeof inner, "%.150s%s%.60s", path, *path ? "." : "", item->string);
        if (known->members[i].inner)
            e = check_inner(item, known->members[i].inner, inner, why);
    }
    return e;
}

enum err spec_check_members(const cJSON *tree, struct why *why)
{
    assert(tree);
    return check_object(tree, &job, "", why);
}
