/* SPDX-License-Identifier: MIT */
#include "page/page.h"

#include "page/embedded.h"

#include <string.h>

static const struct {
    const char *ending, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

/* The scripts in the order in which they are loaded; page.html names them in the same. */
static const char *const scripts[] = {"dom.js", "stats.js", "charts.js", "trials.js", "report.js"};

static const char *type_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot, types[i].ending) == 0)
            return types[i].type;
    return "text/plain; charset=utf-8";
}

bool page_find(const char *name, struct page_file *out)
{
    for (const struct embedded *f = embedded_page; f->name; f++)
        if (strcmp(f->name, name) == 0) {
            *out = (struct page_file){f->name, type_of(f->name), f->text};
            return true;
        }
    return false;
}

static void put_file(struct buf *out, const char *name)
{
    struct page_file file;

    if (page_find(name, &file))
        buf_puts(out, file.text);
}

/* Text within HTML. */
static void put_text(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            buf_puts(out, *text == '<' ? "&lt;" : "&amp;");
        else
            buf_append(out, text, 1);
}

/* JSON within a script element: nothing in it ends the element or begins a comment. */
static void put_json(struct buf *out, const char *json)
{
    for (const char *p = json; *p;) {
        const size_t n = strcspn(p, "<");

        buf_append(out, p, n);
        p += n;
        if (*p == '<') {
            buf_puts(out, "\\u003c");
            p++;
        }
    }
}

enum err page_report(const char *title, const char *rows, struct buf *out)
{
    buf_puts(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                  "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    put_text(out, title);
    buf_puts(out, "</title>\n<style>\n");
    put_file(out, "page.css");
    buf_puts(out, "</style></head>\n<body><main id=\"main\"></main>\n<script type=\"application/json\" id=\"rows\">");
    put_json(out, rows);
    buf_puts(out, "</script>\n<script>\n");
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        put_file(out, scripts[i]);
    buf_puts(out, "</script></body></html>\n");
    return out->failed;
}
