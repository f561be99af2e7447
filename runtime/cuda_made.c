/* SPDX-License-Identifier: MIT */
#include "runtime/cuda_made.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/file_out.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void made_path(const char *cubin_path, char out[PATH_MAX + 8])
{
    snprintf(out, PATH_MAX + 8, "%.*s.made", PATH_MAX, cubin_path);
}

/* Two lines. The agent writes them for a child that is another user, into a folder that this child's kernels wrote in.
 */
enum err cuda_made_write(const char *cubin_path, const struct cuda_made *made, struct why *why)
{
    char path[PATH_MAX + 8], text[sizeof *made + 2];
    const int n = snprintf(text, sizeof text, "%s\n%s\n", made->by, made->compiler);
    struct file_out f;
    enum err e;

    made_path(cubin_path, path);
    e = file_out_open_beside(&f, path, 0644, why);
    if (!e)
        e = file_out_put(&f, text, (size_t)n, why);
    if (!e)
        e = file_out_commit(&f, why);
    file_out_close(&f);
    return e;
}

void cuda_made_read(const char *cubin_path, struct cuda_made *out)
{
    char path[PATH_MAX + 8];
    const char *text;
    struct buf b;
    size_t n;

    *out = (struct cuda_made){.by = ""};
    made_path(cubin_path, path);
    buf_init(&b, 4096);
    if (file_read(path, &b, NULL) == ERR_OK && b.len) {
        text = buf_text(&b);
        n = strcspn(text, "\n");
        snprintf(out->by, sizeof out->by, "%.*s", (int)n, text);
        text += n + (text[n] == '\n');
        snprintf(out->compiler, sizeof out->compiler, "%.*s", (int)strcspn(text, "\n"), text);
    }
    buf_fini(&b);
}
