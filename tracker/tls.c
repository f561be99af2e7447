/* SPDX-License-Identifier: MIT */
#include "tracker/tls.h"

#include "tracker/address.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/entropy.h"
#include "core/file.h"

#include <assert.h>
#include <errno.h>
#include <mbedtls/error.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define FILE_BYTES ((size_t)1 << 20) /* the system's own list of authorities has 0.2 MB */
#define LOOK_S 2                     /* for each step of looking */
#define HANDSHAKE_S 6                /* for all of them: somebody may send a byte now and then */
#define WORDS 160

bool tls_known(void)
{
    return true;
}

bool tls_wanted(const char *url)
{
    return strncmp(url, "tls+", 4) == 0;
}

int tls_random(void *arg, unsigned char *out, size_t n)
{
    (void)arg;
    return entropy_fill(NULL, out, n) == ERR_OK ? 0 : MBEDTLS_ERR_X509_FATAL_ERROR;
}

/* ---- files ---- */

static bool is_given(const char *path)
{
    return path && *path;
}

static void day(const mbedtls_x509_time *t, char out[WORDS])
{
    snprintf(out, WORDS, "%04d-%02d-%02d %02d:%02d", t->year, t->mon, t->day, t->hour, t->min);
}

/* All certificates of a file; the text stays in `text` for what else is in it. */
static enum err read_certs(const char *path, mbedtls_x509_crt *out, struct buf *text, struct why *why)
{
    enum err e = file_read(path, text, why);

    if (e)
        return e;
    if (mbedtls_x509_crt_parse(out, (const unsigned char *)buf_text(text), text->len + 1) != 0)
        return why_set(why, ERR_INPUT, "%.300s: expected certificates as PEM (`tune keygen --ca` makes them)", path);
    return ERR_OK;
}

/* `whose`: words for "the certificate", and what follows. */
static enum err check_days(const char *whose, const mbedtls_x509_crt *c, struct why *why)
{
    char when[WORDS];

    if (mbedtls_x509_time_is_past(&c->valid_to)) {
        day(&c->valid_to, when);
        return why_set(why, ERR_AUTH, "%s expired on %s UTC", whose, when);
    }
    if (mbedtls_x509_time_is_future(&c->valid_from)) {
        day(&c->valid_from, when);
        return why_set(why, ERR_AUTH, "%s is not valid before %s UTC: is this machine's clock right?", whose, when);
    }
    return ERR_OK;
}

static enum err check_ca(const char *path, struct why *why)
{
    mbedtls_x509_crt certs;
    struct buf text;
    enum err e;

    mbedtls_x509_crt_init(&certs);
    buf_init(&text, FILE_BYTES);
    e = read_certs(path, &certs, &text, why);
    if (!e && !certs.next) /* of many, those that serve nobody may be old */
        e = check_days("the authority's certificate in --ca", &certs, why);
    mbedtls_x509_crt_free(&certs);
    buf_fini(&text);
    return e;
}

static int parse_key(mbedtls_pk_context *key, const struct buf *text)
{
    const unsigned char *pem = (const unsigned char *)buf_text(text);

#if MBEDTLS_VERSION_MAJOR < 3
    return mbedtls_pk_parse_key(key, pem, text->len + 1, NULL, 0);
#else
    return mbedtls_pk_parse_key(key, pem, text->len + 1, NULL, 0, tls_random, NULL);
#endif
}

static enum err check_private_key(const char *path, const struct buf *text, struct why *why)
{
    mbedtls_pk_context key;
    int rv;

    mbedtls_pk_init(&key);
    rv = parse_key(&key, text);
    mbedtls_pk_free(&key);
    return rv == 0 ? ERR_OK
                   : why_set(why, ERR_INPUT,
                             "%.300s: expected the certificate's private key, too, without a password, as PEM", path);
}

/* mbedTLS takes no certificate of the other kind, and says nothing. */
static enum err check_use(const mbedtls_x509_crt *c, bool listens, struct why *why)
{
    const char *oid = listens ? MBEDTLS_OID_SERVER_AUTH : MBEDTLS_OID_CLIENT_AUTH;

    if (mbedtls_x509_crt_check_extended_key_usage(c, oid, MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH)) == 0)
        return ERR_OK;
    return why_set(why, ERR_INPUT, "the certificate in --cert is %s: expected one made with %s",
                   listens ? "no tracker's" : "a tracker's", listens ? "--host" : "--agent, --user or the like");
}

static enum err check_own(const char *path, bool listens, struct why *why)
{
    mbedtls_x509_crt certs;
    struct buf text;
    struct stat st;
    enum err e;

    if (stat(path, &st) == 0 && (st.st_mode & 077))
        return why_set(why, ERR_AUTH, "%.300s may be read by others: expected mode 0600, for a private key is in it",
                       path);
    mbedtls_x509_crt_init(&certs);
    buf_init(&text, FILE_BYTES);
    e = read_certs(path, &certs, &text, why);
    if (!e)
        e = check_private_key(path, &text, why);
    if (!e)
        e = check_use(&certs, listens, why);
    if (!e)
        e = check_days("the certificate in --cert", &certs, why);
    mbedtls_x509_crt_free(&certs);
    if (text.data)
        explicit_bzero(text.data, text.len);
    buf_fini(&text);
    return e;
}

enum err tls_check(const char *url, const struct tls_files *files, bool listens, struct why *why)
{
    const bool ca = is_given(files->ca), cert = is_given(files->cert);
    enum err e = ERR_OK;

    if (!tls_wanted(url))
        return ca || cert
                   ? why_set(why, ERR_INPUT, "--ca and --cert are for TLS, and %s has none: expected tls+%s", url, url)
                   : ERR_OK;
    if (listens && !cert)
        return why_set(why, ERR_INPUT, "%s wants --cert FILE, the tracker's certificate (`tune keygen --ca`)", url);
    if (!listens && !ca)
        return why_set(why, ERR_INPUT, "%s wants --ca FILE, of the authority that vouches for the tracker", url);
    if (ca)
        e = check_ca(files->ca, why);
    if (!e && cert)
        e = check_own(files->cert, listens, why);
    return e;
}

/* ---- looking ---- */

/* The socket's waits are short from now on. */
static enum err reach(const struct address *a, int *fd)
{
    const struct timeval patience = {LOOK_S, 0};
    struct addrinfo *found = NULL;
    enum err e = address_find(a, &found, NULL);

    if (e)
        return e;
    e = address_connect(found, LOOK_S * 1000, fd, NULL);
    freeaddrinfo(found);
    if (!e) {
        setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    return e;
}

struct wire {
    int fd;
    int64_t until_ns;
};

static int net_send(void *arg, const unsigned char *bytes, size_t n)
{
    const struct wire *w = arg;
    const ssize_t sent = send(w->fd, bytes, n, MSG_NOSIGNAL);

    return sent < 0 ? MBEDTLS_ERR_SSL_CONN_EOF : (int)sent;
}

static int net_recv(void *arg, unsigned char *out, size_t n)
{
    const struct wire *w = arg;
    const bool late = clock_now_ns() > w->until_ns;
    const ssize_t got = late ? 0 : recv(w->fd, out, n, 0);

    return late                         ? MBEDTLS_ERR_SSL_TIMEOUT
           : got > 0                    ? (int)got
           : got < 0 && errno == EAGAIN ? MBEDTLS_ERR_SSL_TIMEOUT
                                        : MBEDTLS_ERR_SSL_CONN_EOF;
}

struct look {
    struct wire wire;
    const char *url, *host;
    const struct tls_files *files;
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    mbedtls_x509_crt ca, own;
    mbedtls_pk_context key;
    struct buf ca_text, own_text;
    uint32_t flags; /* what is wrong with the peer's chain */
    bool met;       /* its certificate came: the verdict is in `said` */
    enum err verdict;
    struct why *said;
};

static enum err read_files(struct look *l, struct why *said)
{
    enum err e = is_given(l->files->ca) ? read_certs(l->files->ca, &l->ca, &l->ca_text, said) : ERR_OK;

    if (!e && is_given(l->files->cert))
        e = read_certs(l->files->cert, &l->own, &l->own_text, said);
    return e;
}

/* The peer's certificate, in words. */
static enum err judge(const struct look *l, const mbedtls_x509_crt *peer, struct why *said)
{
    char whose[WORDS + 80], name[WORDS] = "?", issuer[WORDS] = "?", until[WORDS];

    snprintf(whose, sizeof whose, "the certificate of the tracker at %.120s", l->url);
    mbedtls_x509_dn_gets(name, sizeof name, &peer->subject);
    mbedtls_x509_dn_gets(issuer, sizeof issuer, &peer->issuer);
    day(&peer->valid_to, until);
    if (!tls_wanted(l->url)) /* that it has one says enough */
        return ERR_AUTH;
    if (check_days(whose, peer, said) != ERR_OK)
        return ERR_AUTH;
    if (l->flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED)
        return why_set(said, ERR_AUTH, "%s is not of the authority in %.200s: it says that %.100s made it", whose,
                       l->files->ca, issuer);
    if (l->flags & MBEDTLS_X509_BADCERT_CN_MISMATCH)
        return why_set(said, ERR_AUTH, "%s is not for the name %.100s, but for others (%.100s)", whose, l->host, name);
    if (l->flags) {
        mbedtls_x509_crt_verify_info(issuer, sizeof issuer, "", l->flags);
        issuer[strcspn(issuer, "\n")] = '\0';
        return why_set(said, ERR_AUTH, "%s is not to be trusted: %s", whose, issuer);
    }
    why_set(said, ERR_OK, "%.100s, until %s UTC", name, until);
    return ERR_OK;
}

/* Called by mbedTLS from the authority down to the peer (depth 0). */
static int meet(void *arg, mbedtls_x509_crt *cert, int depth, uint32_t *flags)
{
    struct look *l = arg;

    l->flags |= *flags;
    if (depth == 0) {
        l->met = true;
        l->verdict = judge(l, cert, l->said);
    }
    return 0;
}

/* As nng's: TLS 1.2; but a certificate that is not to be trusted is looked at, not refused. */
static int set_up(struct look *l)
{
    int rv = mbedtls_ssl_config_defaults(&l->config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                         MBEDTLS_SSL_PRESET_DEFAULT);

    mbedtls_ssl_conf_authmode(&l->config, MBEDTLS_SSL_VERIFY_OPTIONAL);
    mbedtls_ssl_conf_max_version(&l->config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_min_version(&l->config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_rng(&l->config, tls_random, NULL);
    mbedtls_ssl_conf_verify(&l->config, meet, l);
    mbedtls_ssl_conf_ca_chain(&l->config, &l->ca, NULL);
    if (rv == 0 && l->own_text.len)
        rv = parse_key(&l->key, &l->own_text);
    if (rv == 0 && l->own_text.len)
        rv = mbedtls_ssl_conf_own_cert(&l->config, &l->own, &l->key);
    if (rv == 0)
        rv = mbedtls_ssl_setup(&l->ssl, &l->config);
    if (rv == 0)
        rv = mbedtls_ssl_set_hostname(&l->ssl, l->host);
    mbedtls_ssl_set_bio(&l->ssl, &l->wire, net_send, net_recv, NULL);
    return rv;
}

/* How it ended, `rv` being the handshake's. */
static enum err conclude(const struct look *l, int rv, struct why *said)
{
    const bool wanted = tls_wanted(l->url);

    assert(l->met || l->verdict == ERR_OK); /* who showed no certificate was not judged */
    if (!wanted)
        return l->met || rv == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE
                   ? why_set(said, ERR_AUTH, "the tracker at %.200s speaks TLS: expected tls+%.200s and --ca FILE",
                             l->url, l->url)
                   : ERR_UNREACHABLE;
    if (rv == MBEDTLS_ERR_SSL_INVALID_RECORD)
        return why_set(said, ERR_AUTH, "who listens at %.200s speaks no TLS: expected %.200s?", l->url, l->url + 4);
    if (l->met && (l->verdict || rv == 0))
        return l->verdict;
    if (!l->met && rv != MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE)
        return why_set(said, ERR_UNREACHABLE, "nobody speaks TLS at %.200s", l->url);
    return why_set(said, ERR_AUTH, "the tracker at %.200s ends the handshake: %s", l->url,
                   !l->met           ? "they have no cipher in common"
                   : l->own_text.len ? "it does not take the certificate in --cert"
                                     : "it wants a certificate (--cert FILE)");
}

enum err tls_look(const char *url, const struct tls_files *files, struct why *said)
{
    struct look l = {.url = url, .files = files, .said = said};
    struct address address;
    enum err e = address_read(url, strlen(url), false, &address, said);
    int rv;

    if (e)
        return ERR_UNREACHABLE;
    l.wire.until_ns = clock_now_ns() + HANDSHAKE_S * INT64_C(1000000000);
    if (reach(&address, &l.wire.fd) != ERR_OK)
        return why_set(said, ERR_UNREACHABLE, "nobody answers at %.200s", url);
    l.host = address.host;
    mbedtls_ssl_init(&l.ssl);
    mbedtls_ssl_config_init(&l.config);
    mbedtls_x509_crt_init(&l.ca);
    mbedtls_x509_crt_init(&l.own);
    mbedtls_pk_init(&l.key);
    buf_init(&l.ca_text, FILE_BYTES);
    buf_init(&l.own_text, FILE_BYTES);
    e = read_files(&l, said);
    if (!e && (rv = set_up(&l)) != 0)
        e = why_set(said, ERR_INPUT, "--ca and --cert cannot be used (mbedTLS: -0x%x)", (unsigned)-rv);
    if (!e)
        e = conclude(&l, mbedtls_ssl_handshake(&l.ssl), said);
    close(l.wire.fd);
    if (l.own_text.data)
        explicit_bzero(l.own_text.data, l.own_text.len);
    buf_fini(&l.own_text);
    buf_fini(&l.ca_text);
    mbedtls_pk_free(&l.key);
    mbedtls_x509_crt_free(&l.own);
    mbedtls_x509_crt_free(&l.ca);
    mbedtls_ssl_free(&l.ssl);
    mbedtls_ssl_config_free(&l.config);
    return e;
}
