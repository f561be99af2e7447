/* SPDX-License-Identifier: MIT */
/* Without memory the ground of all rooms says so: no crash, no wrong answer, no block kept. */
#include "tests/scarce/scarce.h"

#include "core/blobs.h"
#include "core/buf.h"
#include "core/cli.h"
#include "core/command.h"
#include "core/csvz.h"
#include "core/file.h"
#include "core/json.h"
#include "core/map.h"
#include "core/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char dir[256];

/* Fails the test for an error that is none of memory. */
static bool went_well(enum err e, const char *what)
{
    if (e && e != ERR_NOMEM)
        fail_msg("%s: %s", what, err_name(e));
    return !e;
}

static const char tree_text[] = "{\"a\":[1,2.5,true,null,\"text\"],\"b\":{\"c\":\"\\u0041\",\"d\":[]}}";

static bool parse_and_print(void *arg)
{
    cJSON *tree = NULL;
    struct buf out;
    enum err e = json_parse(tree_text, strlen(tree_text), &tree, NULL);

    (void)arg;
    buf_init(&out, 4096);
    if (!e)
        e = json_print(tree, &out);
    if (!e)
        assert_string_equal(buf_text(&out), "{\"a\":[1,2.5,true,null,\"text\"],\"b\":{\"c\":\"A\",\"d\":[]}}");
    cJSON_Delete(tree);
    buf_fini(&out);
    return went_well(e, "JSON");
}

static bool add_members(void *arg)
{
    cJSON *tree = cJSON_CreateObject(), *copy;
    bool ok = tree != NULL;

    (void)arg;
    json_add_text(tree, "text", "x", &ok);
    json_add_i64(tree, "number", 7, &ok);
    json_add_bool(tree, "truth", true, &ok);
    copy = cJSON_CreateArray();
    json_add_item(tree, "list", copy, &ok);
    assert_true(!ok || cJSON_GetArraySize(tree) == 4);
    cJSON_Delete(tree);
    return ok;
}

static bool keep_blobs(void *arg)
{
    struct blobs all, more;
    enum err e = ERR_OK;
    char bytes[100];

    (void)arg;
    blobs_init(&all, 1 << 20);
    blobs_init(&more, 1 << 20);
    for (int i = 0; !e && i < 40; i++) {
        memset(bytes, i, sizeof bytes);
        e = blobs_put(i % 2 ? &all : &more, bytes, sizeof bytes, NULL);
    }
    if (!e)
        e = blobs_merge(&all, &more);
    if (!e)
        assert_int_equal(all.n, 40);
    blobs_fini(&all);
    blobs_fini(&more);
    return went_well(e, "blobs");
}

static bool fill_map(void *arg)
{
    struct map m = {0};
    enum err e = ERR_OK;

    (void)arg;
    for (size_t n = 0; !e && n < 300; n++) {
        e = map_room(&m, n + 1);
        if (!e)
            map_add(&m, n * 0x9e3779b97f4a7c15u, n);
    }
    map_fini(&m);
    return went_well(e, "a map");
}

static bool parse_words(void *arg)
{
    static const struct cli_option options[] = {
        CLI_OPTION("name", CLI_TEXT, .argument = "NAME", .help = "a name"),
        CLI_OPTION("count", CLI_INT, .argument = "N", .otherwise = "3", .max = 10, .help = "a number"),
        CLI_END,
    };
    static const struct command program = {.name = "p", .summary = "s", .usage = "[options]", .options = options};
    char *argv[] = {"p", "--name", "a", "--name=b", "--count", "7", "rest", NULL};
    struct cli c;
    struct buf help;
    enum err e = cli_parse(&c, options, 7, argv, NULL);

    (void)arg;
    if (!e)
        assert_int_equal(cli_int(&c, "count"), 7);
    cli_fini(&c);
    buf_init(&help, 65536);
    command_help(&program, &program, &help);
    e = e ? e : help.failed;
    buf_fini(&help);
    return went_well(e, "a command line");
}

static bool use_files(void *arg)
{
    struct csvz table;
    char path[300];
    struct buf text;
    enum err e;

    (void)arg;
    snprintf(path, sizeof path, "%s/table.csv", dir);
    buf_init(&text, 4096);
    e = buf_puts(&text, "a,b\n1,\"x,y\"\n2,z\n");
    if (!e)
        e = file_replace(path, buf_text(&text), text.len, 0600, NULL);
    buf_clear(&text);
    if (!e)
        e = file_read(path, &text, NULL);
    buf_fini(&text);
    if (!e)
        e = csvz_read(path, &table, NULL);
    if (!e) {
        assert_string_equal(csvz_text(&table, 0, 1), "x,y");
        csvz_fini(&table);
    }
    return went_well(e, "files");
}

static void each(bool (*work)(void *arg), int64_t at_least)
{
    assert_true(scarce_each(work, NULL) >= at_least);
}

static void trees_are_read_written_and_made_or_not_at_all(void **state)
{
    (void)state;
    each(parse_and_print, 15);
    each(add_members, 8);
}

static void blobs_and_maps_say_when_they_have_no_room(void **state)
{
    (void)state;
    each(keep_blobs, 40);
    each(fill_map, 5);
}

static void command_lines_and_files_are_read_or_not_at_all(void **state)
{
    (void)state;
    each(parse_words, 2);
    each(use_files, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_read_written_and_made_or_not_at_all),
        cmocka_unit_test(blobs_and_maps_say_when_they_have_no_room),
        cmocka_unit_test(command_lines_and_files_are_read_or_not_at_all),
    };
    int n_failed;

    if (dir_temporary("tune-scarce", dir, sizeof dir, NULL) != ERR_OK)
        return 1;
    n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return n_failed;
}
