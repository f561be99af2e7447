/* SPDX-License-Identifier: MIT */
#include "deploy/names.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_among(const char *word, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

enum err deploy_symbol(const char *text, char *out, size_t n_out)
{
    size_t n = 0;
    assert(n_out > 0);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '=')
            continue;
        if (n + 1 >= n_out)
            return ERR_LIMIT;
        out[n++] = is_alnum(*p) ? *p : '_';
    }
    out[n] = '\0';
    return ERR_OK;
}

/* Headers of C that "NAME.h" would hide, what find_package(NAME) would find, targets that CMake has itself, beginnings
 * of names inside NAME.c, libraries that libNAME.a would hide. */
static const char *const taken_names[] = {
    "assert",   "complex", "ctype",   "errno",     "fenv",   "float",   "inttypes",   "iso646",
    "limits",   "locale",  "math",    "setjmp",    "signal", "stdarg",  "stdbool",    "stddef",
    "stdint",   "stdio",   "stdlib",  "string",    "tgmath", "time",    "wchar",      "wctype",
    "stdalign", "threads", "uchar",   "stdatomic", "memory", "strings", "unistd",     "opencl",
    "test",     "all",     "install", "help",      "clean",  "package", "edit_cache", "rebuild_cache",
    "main",     "bundle",  "exec",    "tune",      "c",      "m",       "dl",         "pthread",
    "rt",       "util",    "gcc",     "gcc_s",     "cuda",   "cudart",  "nvrtc",      "z",
    "gomp",     "atomic",  "resolv",  "crypt",     "nsl",    "anl",     "supc__",     "stdc__",
    "libtune",  "pocl",    "ssp",     "asan",      "ubsan",  "tsan",    NULL};

enum err deploy_bundle_name(const char *text, char out[DEPLOY_NAME_BYTES], struct why *why)
{
    char name[DEPLOY_NAME_BYTES] = "b";
    if (text[0] == '\0' || deploy_symbol(text, name + 1, sizeof name - 1) != ERR_OK || name[1] == '\0') {
        return why_set(why, ERR_INPUT, "'%.80s': expected a name of 1 to %d characters for the bundle", text,
                       DEPLOY_NAME_BYTES - 2);
    }
    const char *start = isalpha((unsigned char)name[1]) ? name + 1 : name;
    for (size_t i = 0; taken_names[i]; i++) {
        if (strcasecmp(start, taken_names[i]) == 0) {
            return why_set(why, ERR_INPUT,
                           "'%s' cannot be a bundle's name: a C header, a system library, CMake, tune or the bundle "
                           "itself has it; give another one with --name",
                           start);
        }
    }
    assert(strlen(start) < DEPLOY_NAME_BYTES && isalpha((unsigned char)start[0]));
    memmove(out, start, strlen(start) + 1);
    return ERR_OK;
}

void deploy_capitals(const char *name, char out[DEPLOY_NAME_BYTES])
{
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < DEPLOY_NAME_BYTES; i++)
        out[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    out[i] = '\0';
}

/* What stands behind "NAME_" in every bundle. */
static const char *const own_symbols[] = {"init",
                                          "init_any",
                                          "fini",
                                          "words",
                                          "find",
                                          "layers",
                                          "layer",
                                          "layer_run",
                                          "layer_pack",
                                          "layer_pack_buffers",
                                          "weights",
                                          "weights_free",
                                          "tensor",
                                          "role",
                                          "status",
                                          "device",
                                          "devices",
                                          "TEAM",
                                          "fingerprint",
                                          "threads",
                                          "vectors",
                                          "vector",
                                          "vectors_all",
                                          "vectors_fill",
                                          "vectors_check",
                                          "vector_fill",
                                          "vector_kind",
                                          "vector_result",
                                          "run",
                                          "set_weights",
                                          "load_weights",
                                          "network",
                                          "network_weight",
                                          "network_weights",
                                          "x",
                                          "y",
                                          "N_STEPS",
                                          "N_NETWORK_WEIGHTS",
                                          "steps",
                                          "step",
                                          "pack",
                                          "inputs",
                                          "outputs",
                                          "time",
                                          "N_LAYERS",
                                          "OK",
                                          "NO_MEMORY",
                                          "NO_DEVICE",
                                          "BUILD_FAILED",
                                          "DEVICE_FAILED",
                                          "BAD_ARGUMENT",
                                          "NOT_PACKED",
                                          "OTHER_DEVICE",
                                          "INPUT",
                                          "WEIGHT",
                                          "OUTPUT",
                                          "H",
                                          "VECTORS_H",
                                          NULL};

static bool clashes(const char *symbol, const char *other)
{
    const size_t n = strlen(symbol), n_other = strlen(other);
    return strcmp(symbol, other) == 0 ||
           (n == n_other + 5 && strncmp(symbol, other, n_other) == 0 && strcmp(symbol + n_other, "_pack") == 0) ||
           (n_other == n + 5 && strncmp(symbol, other, n) == 0 && strcmp(other + n, "_pack") == 0);
}

bool deploy_symbol_is_free(const char *symbol, const char *const *others, size_t n)
{
    for (size_t i = 0; own_symbols[i]; i++)
        if (clashes(symbol, own_symbols[i]))
            return false;
    for (size_t i = 0; i < n; i++)
        if (clashes(symbol, others[i]))
            return false;
    return true;
}

/* Keywords of C and C++, and the other parameters and types of the functions. */
static const char *const words[] = {
    "queue",     "packed",   "out",      "asm",      "auto",    "bool",      "break",  "case",     "catch",
    "char",      "class",    "const",    "continue", "default", "delete",    "do",     "double",   "else",
    "enum",      "explicit", "export",   "extern",   "false",   "float",     "for",    "friend",   "goto",
    "if",        "inline",   "int",      "long",     "mutable", "namespace", "new",    "operator", "private",
    "protected", "public",   "register", "restrict", "return",  "short",     "signed", "sizeof",   "static",
    "struct",    "switch",   "template", "this",     "throw",   "true",      "try",    "typedef",  "typename",
    "union",     "unsigned", "using",    "virtual",  "void",    "volatile",  "while",  "cl_mem",   "and",
    "or",        "not",      "xor",      "bitand",   "bitor",   "compl",     NULL};

enum err deploy_parameter(const char *id, char *out, size_t n_out)
{
    char name[DEPLOY_SYMBOL_BYTES];
    enum err e = deploy_symbol(id, name, sizeof name);
    const char *before = name[0] >= '0' && name[0] <= '9' ? "t" : "";
    if (e != ERR_OK || (size_t)snprintf(out, n_out, "%s%s%s", before, name, is_among(name, words) ? "_" : "") >= n_out)
        return ERR_LIMIT;
    return ERR_OK;
}
