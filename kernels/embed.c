/* SPDX-License-Identifier: MIT */
/* embed.c - host tool of the build: writes text files as C string literals.
 * Usage: embed OUT.c HEADER SYMBOL DIR NAME...   -> const struct embedded SYMBOL[] = {{"NAME", "text"}, ..., {NULL,
 * NULL}}; */
#include <stdio.h>
#include <stdlib.h>

static void put_char(FILE *out, int c)
{
    if (c == '\n')
        fputs("\\n\"\n    \"", out);
    else if (c == '"' || c == '\\')
        fprintf(out, "\\%c", c);
    else if (c == '?' || c < ' ' || c > '~') /* no trigraphs, no bytes outside ASCII */
        fprintf(out, "\\%03o", (unsigned)c);
    else
        fputc(c, out);
}

static int put_file(FILE *out, const char *dir, const char *name)
{
    char path[4096];
    FILE *in;
    int c;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    in = fopen(path, "rb");
    if (!in) {
        fprintf(stderr, "embed: cannot read %s\n", path);
        return 1;
    }
    fprintf(out, "    {\"%s\",\n    \"", name);
    while ((c = fgetc(in)) != EOF)
        put_char(out, c);
    fputs("\"},\n", out);
    fclose(in);
    return 0;
}

int main(int argc, char **argv)
{
    FILE *out;
    int failed = 0;

    if (argc < 5) {
        fprintf(stderr, "usage: embed OUT.c HEADER SYMBOL DIR NAME...\n");
        return 1;
    }
    out = fopen(argv[1], "wb");
    if (!out) {
        fprintf(stderr, "embed: cannot write %s\n", argv[1]);
        return 1;
    }
    fprintf(out, "#include \"%s\"\n\n#include <stddef.h>\n\nconst struct embedded %s[] = {\n", argv[2], argv[3]);
    for (int i = 5; i < argc && !failed; i++)
        failed = put_file(out, argv[4], argv[i]);
    fputs("    {NULL, NULL},\n};\n", out);
    failed |= fclose(out) != 0;
    if (failed)
        remove(argv[1]);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
