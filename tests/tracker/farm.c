/* SPDX-License-Identifier: MIT */
#include "tests/tracker/farm.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

static void read_url(struct farm *f, int fd)
{
    char line[256] = "";
    size_t n = 0;

    while (n < sizeof line - 1 && read(fd, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    if (strncmp(line, "listening on ", 13) != 0)
        fail_msg("the tracker said '%s'", line);
    snprintf(f->url, sizeof f->url, "%.100s", line + 13);
}

static void launch(struct farm *f, const char *listen)
{
    char bin[4096], program[5000], store[300];
    const char *argv[32] = {program, "--listen", listen, "--store", store, "--workers", "0"};
    int n = 7, fds[2];
    struct why why;
    struct proc_options o = {.argv = argv, .in_fd = -1, .err_fd = 2, .pass_fd = -1};

    assert_int_equal(proc_own_dir(bin, sizeof bin), ERR_OK);
    snprintf(program, sizeof program, "%s/../bin/tune-tracker", bin);
    snprintf(store, sizeof store, "%s/store", f->dir);
    if (f->store)
        argv[4] = f->store;
    if (f->standby)
        argv[n++] = "--standby";
    if (f->key_file) {
        argv[n++] = "--key";
        argv[n++] = f->key_file;
    }
    for (int i = 0; f->more[i]; i++)
        argv[n++] = f->more[i];
    argv[n] = NULL;
    assert_int_equal(pipe(fds), 0);
    o.out_fd = f->standby ? 2 : fds[1];
    if (proc_start(&o, &f->pid, &why) != ERR_OK)
        fail_msg("%s", why.text);
    close(fds[1]);
    if (!f->standby)
        read_url(f, fds[0]);
    close(fds[0]);
}

/* One that nobody listens at just now. */
static void free_address(char *out, size_t n_out)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    close(fd);
    snprintf(out, n_out, "tcp://127.0.0.1:%d", ntohs(a.sin_port));
}

void farm_start(struct farm *f)
{
    struct why why;

    assert_int_equal(dir_temporary("tune-test", f->dir, sizeof f->dir, &why), ERR_OK);
    if (f->standby)
        free_address(f->url, sizeof f->url);
    launch(f, f->standby ? f->url : f->listen ? f->listen : "tcp://127.0.0.1:0");
}

static void end(struct farm *f, int signal)
{
    int status;

    kill(f->pid, signal);
    if (proc_wait(f->pid, 10000, &status) != ERR_OK) {
        kill(f->pid, SIGKILL);
        proc_wait(f->pid, -1, &status);
        fail_msg("the tracker did not end within 10 s");
    }
    f->pid = 0;
}

void farm_crash(struct farm *f)
{
    end(f, SIGKILL);
}

void farm_restart(struct farm *f)
{
    char url[128];

    snprintf(url, sizeof url, "%s", f->url);
    launch(f, url);
}

void farm_stop(struct farm *f)
{
    if (f->pid)
        end(f, SIGTERM);
    dir_remove(f->dir);
}

struct client *farm_client(const struct farm *f, const char *name)
{
    const struct client_options o = {
        .url = f->url, .key_file = f->key_file, .tls = f->tls, .role = "tune", .name = name};
    struct client *c = NULL;
    struct why why = {""};

    if (client_open(&o, &c, &why) != ERR_OK)
        fail_msg("%s", why.text);
    return c;
}

cJSON *farm_call(struct client *c, enum err *e, int64_t wait_ms, const char *op, const char *format, ...)
{
    cJSON *result = NULL;
    va_list list;

    va_start(list, format);
    *e = client_call(c, op, args_of(format, list), NULL, wait_ms, &result, NULL, NULL);
    va_end(list);
    return result;
}

static cJSON *must(struct client *c, const char *op, cJSON *args)
{
    struct why why = {""};
    cJSON *result = NULL;
    const enum err e = client_call(c, op, args, NULL, 0, &result, NULL, &why);

    if (e)
        fail_msg("%s: %s: %s", op, err_name(e), why.text);
    return result;
}

cJSON *farm_must(struct client *c, const char *op, const char *format, ...)
{
    cJSON *args;
    va_list list;

    va_start(list, format);
    args = args_of(format, list);
    va_end(list);
    return must(c, op, args);
}

void farm_do(struct client *c, const char *op, const char *format, ...)
{
    cJSON *args;
    va_list list;

    va_start(list, format);
    args = args_of(format, list);
    va_end(list);
    cJSON_Delete(must(c, op, args));
}
