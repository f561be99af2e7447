/* SPDX-License-Identifier: MIT */
#include "tests/tracker/postgres.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"

#include <libpq-fe.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define START_MS 60000

/* The server refuses root. */
static void become_nobody(void)
{
    const struct passwd *user = getuid() ? NULL : getpwnam("postgres");
    const uid_t uid = user ? user->pw_uid : 65534;
    const gid_t gid = user ? user->pw_gid : 65534;

    if (getuid() == 0 && (setgid(gid) || setuid(uid)))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT); /* it does not outlive the test */
}

static void give_to_nobody(const char *dir)
{
    const struct passwd *user = getpwnam("postgres");

    if (getuid() == 0)
        assert_int_equal(chown(dir, user ? user->pw_uid : 65534, user ? user->pw_gid : 65534), 0);
}

/* Starts a program of the server's; its words go to DIR/log. */
static pid_t launch(const struct postgres *p, const char *const argv[])
{
    char log[300], program[4200];
    pid_t pid;

    snprintf(log, sizeof log, "%s/log", p->dir);
    snprintf(program, sizeof program, "%s/%s", TUNE_POSTGRES_BIN, argv[0]);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    become_nobody();
    if (!freopen(log, "a", stdout) || dup2(1, 2) < 0 || chdir("/") != 0)
        _exit(126);
    execv(program, (char *const *)argv);
    _exit(127);
}

static void show_log(const struct postgres *p)
{
    char path[300];
    struct buf log;

    snprintf(path, sizeof path, "%s/log", p->dir);
    buf_init(&log, 1 << 20);
    file_read(path, &log, NULL);
    fprintf(stderr, "%s", buf_text(&log));
    buf_fini(&log);
}

static void make(struct postgres *p)
{
    char data[320];
    FILE *hba;
    const char *const argv[] = {"initdb", "-D",   data,         "-U",        "tune", "--auth=trust",
                                "-E",     "UTF8", "--locale=C", "--no-sync", NULL};
    int status = -1;

    snprintf(data, sizeof data, "%s/data", p->dir);
    assert_int_equal(proc_wait(launch(p, argv), START_MS, &status), ERR_OK);
    if (status != 0) {
        show_log(p);
        fail_msg("initdb ended with %d", status);
    }
    snprintf(data, sizeof data, "%s/data/pg_hba.conf", p->dir);
    hba = fopen(data, "w");
    assert_non_null(hba);
    fprintf(hba, "local all stranger scram-sha-256\nlocal all all trust\n");
    assert_int_equal(fclose(hba), 0);
}

void postgres_restart(struct postgres *p)
{
    char data[300], info[400];
    const char *argv[] = {"postgres",
                          "-D",
                          data,
                          "-k",
                          p->dir,
                          "-c",
                          "listen_addresses=",
                          "-c",
                          p->durable ? "fsync=on" : "fsync=off",
                          p->setting ? "-c" : NULL,
                          p->setting,
                          NULL};
    int status;

    snprintf(data, sizeof data, "%s/data", p->dir);
    snprintf(info, sizeof info, "host=%s user=tune dbname=postgres", p->dir);
    p->pid = launch(p, argv);
    for (int i = 0; i < START_MS / 20; i++) {
        if (PQping(info) == PQPING_OK)
            return;
        if (proc_wait(p->pid, 20, &status) == ERR_OK)
            break;
    }
    show_log(p);
    fail_msg("the server does not start");
}

bool postgres_start(struct postgres *p)
{
    char initdb[4200];

    snprintf(initdb, sizeof initdb, "%s/initdb", TUNE_POSTGRES_BIN);
    if (access(initdb, X_OK) != 0) {
        fprintf(stderr, "skipped: no PostgreSQL server is installed (scripts/install_deps.sh --postgres)\n");
        return false;
    }
    assert_int_equal(dir_temporary("tune-pg", p->dir, sizeof p->dir, NULL), ERR_OK);
    give_to_nobody(p->dir);
    make(p);
    postgres_restart(p);
    return true;
}

/* To all its children. */
static void tell_children(const struct postgres *p, int signal)
{
    char path[64];
    FILE *children;
    int child;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)p->pid, (int)p->pid);
    children = fopen(path, "r");
    assert_non_null(children);
    while (fscanf(children, "%d", &child) == 1)
        kill(child, signal);
    fclose(children);
}

/* With its children, of which one that lived on would serve its client, and hold the memory that the next one wants. */
void postgres_crash(struct postgres *p)
{
    int status;

    kill(p->pid, SIGSTOP); /* it starts no more */
    tell_children(p, SIGKILL);
    kill(p->pid, SIGKILL);
    assert_int_equal(proc_wait(p->pid, START_MS, &status), ERR_OK);
}

void postgres_signal(const struct postgres *p, int signal)
{
    kill(p->pid, signal); /* it starts no more */
    tell_children(p, signal);
}

void postgres_stop(struct postgres *p)
{
    int status;

    kill(p->pid, SIGINT); /* connections are ended */
    if (proc_wait(p->pid, START_MS, &status) != ERR_OK) {
        kill(p->pid, SIGKILL);
        proc_wait(p->pid, -1, &status);
    }
    dir_remove(p->dir);
}

int64_t postgres_run(const struct postgres *p, const char *where, const char *text)
{
    char info[1024];
    PGconn *db;
    PGresult *r;
    int64_t value = 0;

    if (where[0])
        snprintf(info, sizeof info, "postgres:%s", where);
    else
        snprintf(info, sizeof info, "host=%s user=tune dbname=postgres", p->dir);
    db = PQconnectdb(info);
    for (int i = 0; PQstatus(db) != CONNECTION_OK && i < 500; i++) { /* others were closed just now */
        clock_sleep_ms(10);
        PQreset(db);
    }
    r = PQexec(db, text);
    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(db));
    if (PQntuples(r) > 0)
        value = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    PQfinish(db);
    return value;
}

void postgres_place(struct postgres *p, char *out, size_t n_out)
{
    char text[64];

    snprintf(text, sizeof text, "CREATE SCHEMA place_%d", ++p->n_stores);
    postgres_run(p, "", text);
    snprintf(out, n_out, "//tune@/postgres?host=%s&options=-csearch_path%%3Dplace_%d", p->dir, p->n_stores);
}
