/* SPDX-License-Identifier: MIT */
#include "runtime/device_checks.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_WRITTEN 0x04 /* how the bands of what kernels write differ: NaN, -3e36; 1e36, 3e38; -3e36, NaN */

size_t buffer_bytes(const struct program_buffer *b)
{
    assert(b->n_elems >= 0);
    return (size_t)b->n_elems * dtype_bytes(b->dtype);
}

unsigned char guard_byte(const struct program_buffer *b, int poison)
{
    const bool is_read = b->role == ROLE_INPUT || b->role == ROLE_WEIGHT;

    return (unsigned char)(is_read ? poison : poison ^ GUARD_WRITTEN);
}

enum err guard_check(const struct program_buffer *b, int poison, bool is_behind, const unsigned char *guard, size_t n,
                     struct why *why)
{
    const unsigned char expected = guard_byte(b, poison);
    size_t i = 0;

    if (n == 0 || (guard[0] == expected && memcmp(guard, guard + 1, n - 1) == 0)) /* all are equal */
        return ERR_OK;
    while (guard[i] == expected)
        i++;
    return is_behind ? why_set(why, ERR_WRONG, "wrote behind the end of %s, %zu bytes", b->id, i)
                     : why_set(why, ERR_WRONG, "wrote before the beginning of %s, %zu bytes", b->id, n - i);
}

const char *device_api_words(const char *api)
{
    return strcmp(api, "cuda") == 0 ? "CUDA" : strcmp(api, "c") == 0 ? "plain C" : "OpenCL";
}

static bool has_extensions(const struct device_desc *d, const char *needed, char *missing, size_t n_missing)
{
    char list[256], *rest = NULL;

    snprintf(list, sizeof list, "%s", needed);
    for (char *w = strtok_r(list, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        char padded[sizeof d->extensions + sizeof d->dots + 3], word[260];

        snprintf(padded, sizeof padded, " %s %s ", d->extensions, d->dots);
        snprintf(word, sizeof word, " %s ", w);
        if (!strstr(padded, word)) {
            snprintf(missing, n_missing, "%s", w);
            return false;
        }
    }
    return true;
}

enum err check_needs(const struct device_desc *d, const struct program *p, int64_t local_max, struct why *why)
{
    char missing[256];

    if (p->api[0] && strcmp(p->api, d->api) != 0)
        return why_set(why, ERR_LIMITS, "the program is for %s, the device is %s", p->api, device_api_words(d->api));
    if (!has_extensions(d, p->extensions, missing, sizeof missing))
        return why_set(why, ERR_LIMITS, "the device has no extension %s", missing);
    if (p->needs_work_group > d->max_work_group)
        return why_set(why, ERR_LIMITS, "needs work-groups of %lld, the device has at most %lld",
                       (long long)p->needs_work_group, (long long)d->max_work_group);
    if (p->needs_local_bytes > local_max)
        return why_set(why, ERR_LIMITS, "needs %lld bytes of local memory, the device has %lld",
                       (long long)p->needs_local_bytes, (long long)local_max);
    return ERR_OK;
}

enum err check_memory(const struct device_desc *d, const struct program *p, struct why *why)
{
    int64_t sum = 0;

    for (size_t i = 0; i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        const int64_t n = (int64_t)(buffer_bytes(b) + 2 * GUARD_BYTES);

        sum += b->reset_each_run ? 2 * n : n;
        if (n > d->max_alloc_bytes)
            return why_set(why, ERR_LIMITS, "buffer '%s' has %lld bytes, the device allocates at most %lld", b->id,
                           (long long)n, (long long)d->max_alloc_bytes);
    }
    if (sum > d->global_bytes)
        return why_set(why, ERR_LIMITS, "buffers of %lld bytes, the device has %lld", (long long)sum,
                       (long long)d->global_bytes);
    return ERR_OK;
}

enum err check_group(const struct device_desc *d, const struct program_launch *l, struct why *why)
{
    int64_t items = 1;

    for (int i = 0; i < 3; i++) {
        items *= l->block[i];
        if (l->block[i] > d->max_local[i])
            return why_set(why, ERR_LIMITS, "launch '%s': %lld work-items in dimension %d, the device has at most %lld",
                           l->id, (long long)l->block[i], i, (long long)d->max_local[i]);
    }
    if (items > d->max_work_group)
        return why_set(why, ERR_LIMITS, "launch '%s': work-groups of %lld, the device has at most %lld", l->id,
                       (long long)items, (long long)d->max_work_group);
    return ERR_OK;
}

void report_add_log(struct load_report *report, const char *id, const char *text)
{
    struct buf log;

    if (!text[strspn(text, " \t\r\n")])
        return;
    assert(!report->log || strlen(report->log) <= LOAD_LOG_BYTES);
    buf_init(&log, 2 * LOAD_LOG_BYTES + 65536);
    buf_printf(&log, "%s[%s]\n%.*s", report->log ? report->log : "", id, (int)LOAD_LOG_BYTES, text);
    if (log.len > LOAD_LOG_BYTES)
        log.data[LOAD_LOG_BYTES] = '\0';
    if (log.data) {
        free(report->log);
        report->log = buf_take(&log);
    }
    buf_fini(&log);
}

void log_first_words(const char *log, char *out, size_t n_out)
{
    const char *at = strstr(log, "error");
    size_t n;

    while (at && at > log && at[-1] != '\n')
        at--;
    if (!at)
        at = log + strspn(log, " \t\r\n");
    n = strcspn(at, "\r\n");
    snprintf(out, n_out, "%.*s", (int)(n < n_out ? n : n_out - 1), at);
}
