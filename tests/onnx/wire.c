/* SPDX-License-Identifier: MIT */
#include "tests/onnx/wire.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)64 << 20)
#define MAX_WORDS 64

static void put_varint(struct buf *b, uint64_t v)
{
    do {
        const unsigned char byte = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));

        buf_append(b, &byte, 1);
        v >>= 7;
    } while (v);
}

void wire_number(struct buf *b, int field, uint64_t v)
{
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, v);
}

void wire_bytes(struct buf *b, int field, const void *bytes, size_t n)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, n);
    buf_append(b, bytes, n);
}

void wire_text(struct buf *b, int field, const char *text)
{
    wire_bytes(b, field, text, strlen(text));
}

void wire_float(struct buf *b, int field, float v)
{
    put_varint(b, (uint64_t)field << 3 | 5);
    buf_append(b, &v, sizeof v);
}

void wire_message(struct buf *b, int field, struct buf *message)
{
    wire_bytes(b, field, buf_text(message), message->len);
    buf_clear(message);
}

static _Noreturn void die(const char *line)
{
    fprintf(stderr, "wire_model: what is '%s'?\n", line);
    abort();
}

/* The dimensions before "=" as field 1 of a tensor; how many elements. */
static size_t put_dims(struct buf *tensor, char **word, size_t n_words, size_t *i)
{
    size_t n = 1;

    for (; *i < n_words && strcmp(word[*i], "=") != 0; ++*i) {
        wire_number(tensor, 1, strtoull(word[*i], NULL, 10));
        n *= (size_t)strtoull(word[*i], NULL, 10);
    }
    ++*i;
    return n;
}

/* `field`: of whole numbers, 0: floats in raw_data. */
static void put_elems(struct buf *tensor, char **word, size_t n_words, size_t from, size_t n, int field)
{
    struct buf raw;
    double v = 0;

    buf_init(&raw, MAX_BYTES);
    for (size_t i = 0; i < n; i++) {
        const char *text = word[from + i < n_words ? from + i : n_words - 1];

        v = strcmp(text, "...") == 0 ? -v : strtod(text, NULL);
        if (field) {
            wire_number(tensor, field, (uint64_t)strtoll(text, NULL, 10));
        } else {
            const float f = (float)v;

            buf_append(&raw, &f, sizeof f);
        }
    }
    if (!field)
        wire_bytes(tensor, 9, buf_text(&raw), raw.len);
    buf_fini(&raw);
}

static void put_outside(struct buf *tensor, char **word, size_t i)
{
    struct buf entry;

    buf_init(&entry, MAX_BYTES);
    wire_text(&entry, 1, "location");
    wire_text(&entry, 2, word[i]);
    wire_message(tensor, 13, &entry);
    wire_text(&entry, 1, "offset");
    wire_text(&entry, 2, word[i + 1]);
    wire_message(tensor, 13, &entry);
    wire_number(tensor, 14, 1);
    buf_fini(&entry);
}

static void put_tensor(struct buf *graph, char **word, size_t n_words)
{
    const int is_int = strcmp(word[0], "ints") == 0;
    char *colon = strchr(word[1], ':');
    const uint64_t type = colon ? strtoull(colon + 1, NULL, 10) : is_int ? 7 : 1;
    struct buf tensor;
    size_t i = 2, n;

    buf_init(&tensor, MAX_BYTES);
    n = put_dims(&tensor, word, n_words, &i);
    n = type == 21 || type == 22 ? (n + 1) / 2 : n;
    wire_number(&tensor, 2, type);
    if (colon)
        *colon = '\0';
    wire_text(&tensor, 8, word[1]);
    if (strcmp(word[0], "outside") == 0)
        put_outside(&tensor, word, i);
    else
        put_elems(&tensor, word, n_words, i, n, colon ? 5 : is_int ? 7 : 0);
    wire_message(graph, 5, &tensor);
    buf_fini(&tensor);
}

/* An input or output: its name, and the dimensions of floats, or with NAME:TYPE of others. */
static void put_value(struct buf *graph, int field, char **word, size_t n_words)
{
    char *colon = strchr(word[1], ':');
    struct buf value, type, tensor, shape, dim;

    buf_init(&value, MAX_BYTES);
    buf_init(&type, MAX_BYTES);
    buf_init(&tensor, MAX_BYTES);
    buf_init(&shape, MAX_BYTES);
    buf_init(&dim, MAX_BYTES);
    for (size_t i = 2; i < n_words; i++) {
        if (word[i][0] == '-' || (word[i][0] >= '0' && word[i][0] <= '9'))
            wire_number(&dim, 1, (uint64_t)strtoll(word[i], NULL, 10));
        else
            wire_text(&dim, 2, word[i]);
        wire_message(&shape, 1, &dim);
    }
    wire_number(&tensor, 1, colon ? strtoull(colon + 1, NULL, 10) : 1);
    if (colon)
        *colon = '\0';
    if (n_words > 2)
        wire_message(&tensor, 2, &shape);
    wire_message(&type, 1, &tensor);
    wire_text(&value, 1, word[1]);
    wire_message(&value, 2, &type);
    wire_message(graph, field, &value);
    buf_fini(&value);
    buf_fini(&type);
    buf_fini(&tensor);
    buf_fini(&shape);
    buf_fini(&dim);
}

static void put_attribute(struct buf *node, char *word)
{
    char *value = strchr(word, '='), *rest = NULL;
    struct buf a;

    *value++ = '\0';
    if (strcmp(word, "name") == 0) {
        wire_bytes(node, 3, value + 1, strlen(value) - 2);
        return;
    }
    buf_init(&a, MAX_BYTES);
    wire_text(&a, 1, word);
    if (value[0] == '[') {
        const bool floats = strchr(value, '.') != NULL;

        for (char *p = strtok_r(value, "[,]", &rest); p; p = strtok_r(NULL, "[,]", &rest))
            if (*p == '\'')
                wire_bytes(&a, 9, p + 1, strlen(p) - 2);
            else if (floats)
                wire_float(&a, 7, strtof(p, NULL));
            else
                wire_number(&a, 8, (uint64_t)strtoll(p, NULL, 10));
    } else if (value[0] == '\'') {
        wire_bytes(&a, 4, value + 1, strlen(value) - 2);
    } else if (strchr(value, '.')) {
        wire_float(&a, 2, strtof(value, NULL));
    } else if (value[0] == 'G') { /* a sub-graph, an empty one */
        wire_bytes(&a, 6, "", 0);
    } else {
        wire_number(&a, 3, (uint64_t)strtoll(value, NULL, 10));
    }
    wire_message(node, 5, &a);
    buf_fini(&a);
}

static void put_node(struct buf *graph, char **word, size_t n_words)
{
    char *dot = strrchr(word[1], '.');
    int field = 1;
    struct buf node;

    buf_init(&node, MAX_BYTES);
    for (size_t i = 2; i < n_words; i++)
        if (strcmp(word[i], "->") == 0)
            field = 2;
        else if (strchr(word[i], '='))
            put_attribute(&node, word[i]);
        else
            wire_text(&node, field, strcmp(word[i], "-") == 0 ? "" : word[i]);
    wire_text(&node, 4, dot ? dot + 1 : word[1]);
    if (dot) {
        *dot = '\0';
        wire_text(&node, 7, word[1]);
    }
    wire_message(graph, 1, &node);
    buf_fini(&node);
}

static void put_line(struct buf *model, struct buf *graph, const char *line, size_t n)
{
    char copy[4096], *word[MAX_WORDS], *rest = NULL;
    size_t n_words = 0;
    struct buf opset;

    snprintf(copy, sizeof copy, "%.*s", (int)n, line);
    for (char *p = strtok_r(copy, " ", &rest); p && n_words < MAX_WORDS; p = strtok_r(NULL, " ", &rest))
        word[n_words++] = p;
    if (n_words == MAX_WORDS)
        abort(); /* the rest would be left out */
    if (n_words == 0)
        return;
    if (strcmp(word[0], "opset") == 0) {
        buf_init(&opset, 64);
        wire_text(&opset, 1, "");
        wire_number(&opset, 2, strtoull(word[1], NULL, 10));
        wire_message(model, 8, &opset);
        buf_fini(&opset);
    } else if (strcmp(word[0], "input") == 0 || strcmp(word[0], "output") == 0) {
        put_value(graph, word[0][0] == 'i' ? 11 : 12, word, n_words);
    } else if (strcmp(word[0], "node") == 0) {
        put_node(graph, word, n_words);
    } else if (strcmp(word[0], "const") == 0 || strcmp(word[0], "ints") == 0 || strcmp(word[0], "outside") == 0) {
        put_tensor(graph, word, n_words);
    } else {
        die(copy);
    }
}

void wire_model(const char *lines, struct buf *out)
{
    struct buf graph;

    buf_init(&graph, MAX_BYTES);
    wire_number(out, 1, 8);
    for (const char *p = lines; *p;) {
        const size_t n = strcspn(p, "\n");

        put_line(out, &graph, p, n);
        p += n + (p[n] == '\n');
    }
    wire_message(out, 7, &graph);
    buf_fini(&graph);
}
