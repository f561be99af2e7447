/* SPDX-License-Identifier: MIT */
/* server.h - a small HTTP server in a thread, for tests of hubs: WebDAV, S3 or neither, as its switches say. It answers
 * one request a connection, keeps objects in memory and a list of what it was asked. */
#ifndef TUNE_TESTS_LOGS_HUB_SERVER_H
#define TUNE_TESTS_LOGS_HUB_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define SERVER_MAX_OBJECTS 64

struct server_object {
    char path[256]; /* percent-encoded; a folder ends with '/' */
    char *bytes;
    size_t n;
    unsigned version; /* its ETag is "v<version>" */
    char sha256[65];  /* x-amz-meta-sha256, "" = none */
};

struct server_request {
    char method[16], target[600], range[64], if_range[80], if_match[80], if_none_match[8], authorization[256];
};

struct server {
    unsigned port;
    /* Switches, set between requests. */
    bool knows_etags;   /* obeys If-Match and If-None-Match */
    bool refuses_etags; /* 501 to If-Match */
    bool weak_etags;    /* W/"v1" */
    bool is_dav;        /* MKCOL and PROPFIND */
    bool wants_folders; /* PUT and MKCOL below a folder that is missing: 409, as RFC 4918 has it */
    int n_at_once;      /* so many MKCOLs of what is there are told 403, as Apache does to one of two at once */
    bool has_index;     /* GET of a folder is nginx's index in JSON */
    bool is_s3;         /* GET of the bucket with list-type=2, a page an entry */
    int age_s;          /* of every object, as its headers say; -1 = none is told */
    int n_fail, status; /* so many requests are answered so */
    int n_cut;          /* so many GETs are cut short behind cut_at bytes of the body */
    size_t cut_at;
    int n_slow;         /* so many GETs come byte by byte, until the peer has enough of it */
    char elsewhere[80]; /* "" or where every GET is sent on to */
    /* Called before a request is answered, in the server's thread. */
    void (*before)(struct server *s, const struct server_request *r, void *arg);
    void *arg;
    /* What came of it. */
    struct server_object objects[SERVER_MAX_OBJECTS];
    size_t n_objects;
    char asked[65536]; /* "PUT /a 201\n" for each request */
    struct server_request last;
    /* Its own. */
    int fd;
    pthread_t thread;
    unsigned last_version;
};

/* Listens on a free port of 127.0.0.1. Aborts where that cannot be. */
void server_start(struct server *s);
void server_stop(struct server *s);

/* Objects are looked at and changed while no request is under way, or from `before`. NULL: there is none. */
struct server_object *server_find(struct server *s, const char *path);
void server_put(struct server *s, const char *path, const void *bytes, size_t n);
void server_delete(struct server *s, const char *path); /* and all below a folder */

/* No credentials or proxies of whoever runs the tests. */
void server_forget_environment(void);

#endif
