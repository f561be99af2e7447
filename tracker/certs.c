/* SPDX-License-Identifier: MIT */
#include "tracker/certs.h"

#include "core/buf.h"
#include "core/file.h"
#include "tracker/protocol.h"
#include "tracker/tls.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mbedtls/asn1write.h>
#include <mbedtls/bignum.h>
#include <mbedtls/ecp.h>
#include <mbedtls/md.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PEM_BYTES 8192
#define NAMES_BYTES 1024
#define SERIAL_BYTES 16

static int make_key(mbedtls_pk_context *key)
{
    const int rv = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));

    return rv ? rv : mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key), tls_random, NULL);
}

/* ---- what stands in a certificate ---- */

static int set_days(mbedtls_x509write_cert *c, const struct cert_order *o)
{
    const time_t from = (time_t)o->from_s, until = (time_t)o->until_s;
    char a[16], b[16];
    struct tm tm;

    gmtime_r(&from, &tm);
    strftime(a, sizeof a, "%Y%m%d%H%M%S", &tm);
    gmtime_r(&until, &tm);
    strftime(b, sizeof b, "%Y%m%d%H%M%S", &tm);
    return mbedtls_x509write_crt_set_validity(c, a, b);
}

static int set_serial(mbedtls_x509write_cert *c)
{
    unsigned char bytes[SERIAL_BYTES];
    mbedtls_mpi serial;
    int rv = tls_random(NULL, bytes, sizeof bytes);

    bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive, of full length */
    mbedtls_mpi_init(&serial);
    if (rv == 0)
        rv = mbedtls_mpi_read_binary(&serial, bytes, sizeof bytes);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_serial(c, &serial);
    mbedtls_mpi_free(&serial);
    return rv;
}

/* One GeneralName, before what stands at *p already. */
static int write_name(unsigned char **p, unsigned char *start, const void *bytes, size_t n, unsigned char kind)
{
    const int n_bytes = mbedtls_asn1_write_raw_buffer(p, start, bytes, n);
    const int n_len = n_bytes < 0 ? n_bytes : mbedtls_asn1_write_len(p, start, n);
    const int n_tag =
        n_len < 0 ? n_len : mbedtls_asn1_write_tag(p, start, (unsigned char)(MBEDTLS_ASN1_CONTEXT_SPECIFIC | kind));

    return n_tag < 0 ? n_tag : n_bytes + n_len + n_tag;
}

/* An address as an address and as a name: mbedTLS before 3.5 looks only at names. */
static int write_host(unsigned char **p, unsigned char *start, const char *host)
{
    unsigned char address[16];
    const size_t n = inet_pton(AF_INET, host, address) == 1 ? 4 : inet_pton(AF_INET6, host, address) == 1 ? 16 : 0;
    const int n_name = write_name(p, start, host, strlen(host), 2);
    const int n_address = n_name < 0 || !n ? 0 : write_name(p, start, address, n, 7);

    return n_name < 0 ? n_name : n_address < 0 ? n_address : n_name + n_address;
}

/* subjectAltName of all hosts. */
static int set_hosts(mbedtls_x509write_cert *c, const char *hosts)
{
    unsigned char der[2 * NAMES_BYTES], *p = der + sizeof der;
    char names[NAMES_BYTES], *rest = NULL;
    int n = 0, k;

    if (strlen(hosts) >= sizeof names)
        return MBEDTLS_ERR_X509_BUFFER_TOO_SMALL;
    strcpy(names, hosts);
    for (char *host = strtok_r(names, ",", &rest); host; host = strtok_r(NULL, ",", &rest)) {
        k = write_host(&p, der, host);
        if (k < 0)
            return k;
        n += k;
    }
    k = mbedtls_asn1_write_len(&p, der, (size_t)n);
    if (k < 0)
        return k;
    n += k;
    k = mbedtls_asn1_write_tag(&p, der, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE);
    return k < 0 ? k
                 : mbedtls_x509write_crt_set_extension(c, MBEDTLS_OID_SUBJECT_ALT_NAME,
                                                       MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, p,
                                                       (size_t)(n + k));
}

/* extendedKeyUsage: a peer's certificate is of no use to who plays the tracker. */
static int set_use(mbedtls_x509write_cert *c, bool is_server)
{
    const unsigned char der[] = {0x30, 10, MBEDTLS_ASN1_OID, 8, 0x2b, 6, 1, 5, 5,
                                 7,    3,  is_server ? 1 : 2 /* serverAuth, clientAuth */};

    return mbedtls_x509write_crt_set_extension(c, MBEDTLS_OID_EXTENDED_KEY_USAGE,
                                               MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0, der, sizeof der);
}

/* ---- writing ---- */

struct authority {
    mbedtls_pk_context key;
    char name[300];
};

/* The certificate of `key` as PEM; `is_ca`: it is the authority's own. */
static int sign(const struct cert_order *o, mbedtls_pk_context *key, struct authority *by, bool is_ca,
                char out[PEM_BYTES])
{
    mbedtls_x509write_cert c;
    char subject[100];
    int rv;

    assert(is_ca || (by->name[0] && o->name));
    snprintf(subject, sizeof subject, "CN=%s,O=tune", o->name);
    mbedtls_x509write_crt_init(&c);
    mbedtls_x509write_crt_set_version(&c, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(&c, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(&c, key);
    mbedtls_x509write_crt_set_issuer_key(&c, &by->key);
    rv = mbedtls_x509write_crt_set_subject_name(&c, subject);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_issuer_name(&c, is_ca ? subject : by->name);
    if (rv == 0)
        rv = set_serial(&c);
    if (rv == 0)
        rv = set_days(&c, o);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_basic_constraints(&c, is_ca, is_ca ? 0 : -1);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_key_usage(&c, is_ca ? MBEDTLS_X509_KU_KEY_CERT_SIGN | MBEDTLS_X509_KU_CRL_SIGN
                                                           : MBEDTLS_X509_KU_DIGITAL_SIGNATURE);
    if (rv == 0 && !is_ca)
        rv = set_use(&c, o->hosts != NULL);
    if (rv == 0 && o->hosts)
        rv = set_hosts(&c, o->hosts);
    if (rv == 0)
        rv = mbedtls_x509write_crt_pem(&c, (unsigned char *)out, PEM_BYTES, tls_random, NULL);
    mbedtls_x509write_crt_free(&c);
    return rv;
}

static enum err write_new(const char *path, const char *a, const char *b, mode_t mode, struct why *why)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    const ssize_t n_a = (ssize_t)strlen(a), n_b = (ssize_t)strlen(b);
    enum err e = ERR_OK;

    if (fd < 0)
        return why_set(why, errno == EEXIST ? ERR_EXISTS : ERR_IO, "%.300s: %s", path, strerror(errno));
    if (write(fd, a, (size_t)n_a) != n_a || write(fd, b, (size_t)n_b) != n_b || fsync(fd) != 0)
        e = why_set(why, ERR_IO, "%.300s: cannot be written: %s", path, strerror(errno));
    close(fd);
    if (e)
        unlink(path);
    return e;
}

static enum err failed(int rv, struct why *why)
{
    return rv ? why_set(why, ERR_INPUT, "no certificate can be made of this (mbedTLS: -0x%x)", (unsigned)-rv) : ERR_OK;
}

enum err certs_make_ca(const char *dir, const struct cert_order *o, struct why *why)
{
    char key_path[PATH_MAX], path[PATH_MAX], key_pem[PEM_BYTES] = "", pem[PEM_BYTES] = "";
    struct authority self;
    enum err e;
    int rv;

    mbedtls_pk_init(&self.key);
    snprintf(path, sizeof path, "%.3000s/ca.pem", dir);
    snprintf(key_path, sizeof key_path, "%.3000s/ca.key", dir);
    rv = make_key(&self.key);
    if (rv == 0)
        rv = sign(o, &self.key, &self, true, pem);
    if (rv == 0)
        rv = mbedtls_pk_write_key_pem(&self.key, (unsigned char *)key_pem, sizeof key_pem);
    e = failed(rv, why);
    if (!e)
        e = dir_make(dir, 0700, why);
    if (!e)
        e = write_new(key_path, key_pem, "", 0600, why);
    if (!e && (e = write_new(path, pem, "", 0644, why)) != ERR_OK)
        unlink(key_path); /* it is of no certificate that there is */
    explicit_bzero(key_pem, sizeof key_pem);
    mbedtls_pk_free(&self.key);
    return e;
}

/* Is it the key of that certificate? 0 = yes. */
static int check_pair(const mbedtls_x509_crt *cert, const mbedtls_pk_context *key)
{
#if MBEDTLS_VERSION_MAJOR < 3
    return mbedtls_pk_check_pair(&cert->pk, key);
#else
    return mbedtls_pk_check_pair(&cert->pk, key, tls_random, NULL);
#endif
}

static enum err read_authority(const char *dir, struct authority *out, struct why *why)
{
    char path[PATH_MAX];
    mbedtls_x509_crt cert;
    int rv;

    mbedtls_x509_crt_init(&cert);
    snprintf(path, sizeof path, "%.3000s/ca.pem", dir);
    rv = mbedtls_x509_crt_parse_file(&cert, path);
    if (rv == 0) /* as crt_set_issuer_name reads it again */
        rv = mbedtls_x509_dn_gets(out->name, sizeof out->name, &cert.subject) < 0;
    snprintf(path, sizeof path, "%.3000s/ca.key", dir);
    if (rv == 0)
#if MBEDTLS_VERSION_MAJOR < 3
        rv = mbedtls_pk_parse_keyfile(&out->key, path, NULL);
#else
        rv = mbedtls_pk_parse_keyfile(&out->key, path, NULL, tls_random, NULL);
#endif
    if (rv == 0)
        rv = check_pair(&cert, &out->key);
    mbedtls_x509_crt_free(&cert);
    return rv == 0 ? ERR_OK
                   : why_set(why, ERR_INPUT, "%.300s: expected ca.pem and ca.key, as `tune keygen --ca DIR` makes them",
                             dir);
}

static enum err check_order(const struct cert_order *o, struct why *why)
{
    const char *bad = name_is_sane(o->name) ? NULL : o->name;

    if (o->hosts && (!*o->hosts || strlen(o->hosts) >= NAMES_BYTES / 2 || strchr(o->hosts, ' ')))
        bad = o->hosts;
    return bad ? why_set(why, ERR_INPUT, "'%.80s' is no name that a certificate can have", bad) : ERR_OK;
}

enum err certs_issue(const char *dir, const struct cert_order *o, const char *path, struct why *why)
{
    char pem[PEM_BYTES] = "", key_pem[PEM_BYTES] = "";
    struct authority by;
    mbedtls_pk_context key;
    enum err e = check_order(o, why);
    int rv = 0;

    mbedtls_pk_init(&by.key);
    mbedtls_pk_init(&key);
    if (!e)
        e = read_authority(dir, &by, why);
    if (!e) {
        rv = make_key(&key);
        if (rv == 0)
            rv = sign(o, &key, &by, false, pem);
        if (rv == 0)
            rv = mbedtls_pk_write_key_pem(&key, (unsigned char *)key_pem, sizeof key_pem);
        e = failed(rv, why);
    }
    if (!e)
        e = write_new(path, pem, key_pem, 0600, why);
    explicit_bzero(key_pem, sizeof key_pem);
    mbedtls_pk_free(&key);
    mbedtls_pk_free(&by.key);
    return e;
}
