/* SPDX-License-Identifier: MIT */
#include "tracker/protocol.h"

#include "core/entropy.h"
#include "core/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_TEXT_BYTES (KEY_IDENTITY_BYTES + 80)

static const char magic[4] = {'T', 'U', 'N', '1'};

static void put_u32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

static uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool name_is_sane(const char *text)
{
    static const char allowed[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._:@+-";
    const size_t n = strlen(text);

    return n >= 1 && n <= 64 && strspn(text, allowed) == n;
}

enum err name_check(const char *what, const char *text, struct why *why)
{
    if (name_is_sane(text))
        return ERR_OK;
    return why_set(why, ERR_INPUT, "%s '%.80s': expected 1 to 64 of letters, digits and . _ : @ + -", what, text);
}

const char *const key_role_names[N_KEY_ROLES] = {
    [KEY_FARM] = "",       [KEY_AGENT] = "agent",     [KEY_USER] = "user",
    [KEY_TUNER] = "tuner", [KEY_BUILDER] = "builder", [KEY_ADMIN] = "admin",
};

enum key_role key_role_of(const char *identity)
{
    const size_t n = strcspn(identity, ":");
    enum key_role r = *identity ? KEY_AGENT : KEY_FARM;

    while (r != KEY_FARM && r < N_KEY_ROLES &&
           (strlen(key_role_names[r]) != n || memcmp(key_role_names[r], identity, n) != 0))
        r++;
    return r == KEY_FARM || r == N_KEY_ROLES || (identity[n] && name_is_sane(identity + n + 1)) ? r : N_KEY_ROLES;
}

bool key_identity_is_sane(const char *identity)
{
    const enum key_role r = key_role_of(identity);

    return r != KEY_FARM && r != N_KEY_ROLES;
}

void key_derive(const struct key *farm, const char *identity, struct key *out)
{
    static const char label[] = "tune key of ";

    *out = *farm;
    if (!*identity)
        return;
    assert(key_identity_is_sane(identity) && !farm->identity[0]);
    strcpy(out->identity, identity);
    hmac_sha256(farm->bytes, sizeof farm->bytes, label, strlen(label), identity, strlen(identity), out->bytes);
}

static enum err read_key(char *text, const char *path, struct key *out, struct why *why)
{
    char *space = strchr(text, ' ');
    const char *hex = space ? space + 1 : text;

    *out = (struct key){.identity = ""};
    if (space)
        *space = '\0';
    if (strlen(hex) == 2 * sizeof out->bytes && hex_decode(hex, out->bytes, sizeof out->bytes) == ERR_OK &&
        (!space || key_identity_is_sane(text))) {
        if (space)
            strcpy(out->identity, text);
        return ERR_OK;
    }
    return why_set(why, ERR_INPUT, "key file %s: expected 64 hex digits, as `tune keygen` writes them", path);
}

enum err key_load(const char *path, struct key *out, struct why *why)
{
    struct buf text;
    struct stat st;
    enum err e;

    if (stat(path, &st) != 0)
        return why_set(why, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "key file %s: %s", path, strerror(errno));
    if (st.st_mode & 077)
        return why_set(why, ERR_AUTH, "key file %s may be read by others: expected mode 0600 (chmod 600 %s)", path,
                       path);
    buf_init(&text, 256);
    e = file_read(path, &text, why);
    if (!e && text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    if (!e && text.len)
        e = read_key(text.data, path, out, why);
    else if (!e || e == ERR_LIMIT)
        e = why_set(why, ERR_INPUT, "key file %s: expected 64 hex digits, as `tune keygen` writes them", path);
    if (text.data)
        explicit_bzero(text.data, text.len);
    buf_fini(&text);
    return e;
}

static bool write_text(int fd, const char *text)
{
    const ssize_t n = (ssize_t)strlen(text);

    return write(fd, text, (size_t)n) == n;
}

static enum err write_key(const char *path, const char *text, struct why *why)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum err e = ERR_OK;

    if (fd < 0)
        return why_set(why, errno == EEXIST ? ERR_EXISTS : ERR_IO, "key file %s: %s", path, strerror(errno));
    if (!write_text(fd, text) || fsync(fd) != 0)
        e = why_set(why, ERR_IO, "key file %s: cannot be written: %s", path, strerror(errno));
    close(fd);
    if (e)
        unlink(path); /* half a key would keep the next try from making one */
    return e;
}

enum err key_make(const char *path, struct why *why)
{
    char text[66];
    const enum err e = entropy_hex(NULL, text, 64);

    text[64] = '\n';
    text[65] = '\0';
    return e ? why_set(why, e, "key file %s: no random numbers", path) : write_key(path, text, why);
}

/* What the file of an identity's key holds. */
static enum err text_for(const struct key *farm, const char *identity, char text[KEY_TEXT_BYTES], struct why *why)
{
    char hex[2 * sizeof farm->bytes + 1];
    struct key key;

    if (farm->identity[0])
        return why_set(why, ERR_INPUT, "only the farm's own key makes others; this one is %s's", farm->identity);
    if (!key_identity_is_sane(identity))
        return why_set(why, ERR_INPUT, "'%.80s': expected 1 to 64 of letters, digits and . _ : @ + -", identity);
    key_derive(farm, identity, &key);
    hex_encode(key.bytes, sizeof key.bytes, hex);
    snprintf(text, KEY_TEXT_BYTES, "%s %s\n", identity, hex);
    return ERR_OK;
}

enum err key_make_for(const char *path, const struct key *farm, const char *identity, struct why *why)
{
    char text[KEY_TEXT_BYTES];
    const enum err e = text_for(farm, identity, text, why);

    return e ? e : write_key(path, text, why);
}

enum err key_lend(const struct key *farm, const char *identity, char path[KEY_LENT_BYTES], struct why *why)
{
    char text[KEY_TEXT_BYTES];
    enum err e = text_for(farm, identity, text, why);
    const int fd = e ? -1 : memfd_create("tune-key", MFD_CLOEXEC);

    if (e)
        return e;
    snprintf(path, KEY_LENT_BYTES, "/proc/%ld/fd/%d", (long)getpid(), fd);
    if (fd >= 0 && fchmod(fd, 0600) == 0 && write_text(fd, text) && access(path, R_OK) == 0)
        return ERR_OK;
    e = why_set(why, ERR_IO, "a key cannot be kept in memory (%s): %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return e;
}

static enum err add_blob_names(cJSON *json, const struct blobs *blobs)
{
    cJSON *names = cJSON_CreateArray();
    bool ok = names != NULL;

    for (size_t i = 0; ok && i < blobs->n; i++) {
        cJSON *one = cJSON_CreateObject();

        ok = one != NULL;
        if (!ok)
            break;
        json_add_text(one, "sha256", blobs->items[i].name.hex, &ok);
        json_add_i64(one, "bytes", (int64_t)blobs->items[i].n_bytes, &ok);
        cJSON_AddItemToArray(names, one);
    }
    if (!ok) {
        cJSON_Delete(names);
        return ERR_NOMEM;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(json, "blobs");
    json_add_item(json, "blobs", names, &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}

static void append_mac(struct buf *out, size_t start, const struct key *key, const char *nonce)
{
    uint8_t mac[SHA256_BYTES];

    if (out->failed)
        return;
    hmac_sha256(key->bytes, sizeof key->bytes, nonce, strlen(nonce), out->data + start, out->len - start, mac);
    buf_append(out, mac, sizeof mac);
}

enum err message_encode(cJSON *json, const struct blobs *blobs, const struct key *key, const char *nonce,
                        struct buf *out)
{
    const size_t start = out->len;
    unsigned char head[MESSAGE_HEADER_BYTES];
    size_t n_json;

    if (blobs && blobs->n > MESSAGE_MAX_BLOBS)
        return ERR_LIMIT;
    if (blobs && blobs->n && add_blob_names(json, blobs) != ERR_OK)
        return ERR_NOMEM;
    memset(head, 0, sizeof head);
    buf_append(out, head, sizeof head);
    if (json_print(json, out) != ERR_OK) {
        out->failed = out->failed ? out->failed : ERR_NOMEM; /* a head without a body is no message */
        return out->failed;
    }
    n_json = out->len - start - sizeof head;
    for (size_t i = 0; blobs && i < blobs->n; i++)
        buf_append(out, blobs->items[i].data, blobs->items[i].n_bytes);
    if (out->failed)
        return out->failed;
    memcpy(out->data + start, magic, sizeof magic);
    put_u32((unsigned char *)out->data + start + 4, PROTOCOL_VERSION);
    put_u32((unsigned char *)out->data + start + 8, (uint32_t)n_json);
    if (key)
        append_mac(out, start, key, nonce);
    if (!out->failed && out->len - start > MESSAGE_MAX_BYTES)
        return ERR_LIMIT;
    return out->failed;
}

static enum err take_blob(const cJSON *entry, const unsigned char **p, size_t *n_left, struct message_blob *out,
                          struct why *why)
{
    struct sha256 is;
    const char *name;
    int64_t bytes;
    enum err e = json_get_text(entry, "sha256", &name, why);

    if (!e)
        e = json_get_i64(entry, "bytes", 0, (int64_t)MESSAGE_MAX_BYTES, &bytes, why);
    if (e)
        return e;
    if (!sha256_is_hex(name))
        return why_set(why, ERR_PROTOCOL, "a blob's name is no SHA-256");
    if ((size_t)bytes > *n_left)
        return why_set(why, ERR_PROTOCOL, "a blob of %lld bytes where %zu bytes are left", (long long)bytes, *n_left);
    is = sha256_of(*p, (size_t)bytes);
    if (strcmp(is.hex, name) != 0)
        return why_set(why, ERR_PROTOCOL, "blob %.12s.. has another content than its name says", name);
    *out = (struct message_blob){.name = is, .data = *p, .n_bytes = (size_t)bytes};
    *p += bytes;
    *n_left -= (size_t)bytes;
    return ERR_OK;
}

static enum err take_blobs(struct message *m, const unsigned char *p, size_t n_left, struct why *why)
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(m->json, "blobs"), *entry;
    const int n = names ? cJSON_GetArraySize(names) : 0;
    enum err e = ERR_OK;

    if (names && !cJSON_IsArray(names))
        return why_set(why, ERR_PROTOCOL, "'blobs' must be a list");
    if (n > MESSAGE_MAX_BLOBS)
        return why_set(why, ERR_LIMIT, "%d blobs in a message: at most %d", n, MESSAGE_MAX_BLOBS);
    if (n) {
        m->blobs = calloc((size_t)n, sizeof *m->blobs);
        if (!m->blobs)
            return ERR_NOMEM;
        cJSON_ArrayForEach(entry, names)
        {
            e = take_blob(entry, &p, &n_left, &m->blobs[m->n_blobs], why);
            if (e)
                return e;
            m->n_blobs++;
        }
    }
    if (n_left != 0 && n_left != SHA256_BYTES)
        return why_set(why, ERR_PROTOCOL, "%zu bytes behind the last blob: expected 0 or a MAC of %d", n_left,
                       SHA256_BYTES);
    m->has_mac = n_left == SHA256_BYTES;
    return ERR_OK;
}

/* Counts an upper bound of the values in JSON text, so that no huge tree is ever built. */
static bool too_many_values(const char *text, size_t n)
{
    size_t n_values = 0;

    for (size_t i = 0; i < n; i++)
        n_values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return n_values > MESSAGE_MAX_VALUES;
}

enum err message_decode(const void *bytes, size_t n, struct message *out, struct why *why)
{
    const unsigned char *p = bytes;
    struct message m = {0};
    size_t n_json;
    enum err e;

    if (n > MESSAGE_MAX_BYTES)
        return why_set(why, ERR_LIMIT, "message of %zu bytes: at most %zu", n, MESSAGE_MAX_BYTES);
    if (n < MESSAGE_HEADER_BYTES || memcmp(p, magic, sizeof magic) != 0)
        return why_set(why, ERR_PROTOCOL, "not a message of tune: expected 'TUN1'");
    if (get_u32(p + 4) != PROTOCOL_VERSION)
        return why_set(why, ERR_PROTOCOL, "protocol version %u: expected %d", (unsigned)get_u32(p + 4),
                       PROTOCOL_VERSION);
    n_json = get_u32(p + 8);
    if (n_json > n - MESSAGE_HEADER_BYTES)
        return why_set(why, ERR_PROTOCOL, "%zu bytes of JSON announced, %zu there", n_json, n - MESSAGE_HEADER_BYTES);
    if (too_many_values((const char *)p + MESSAGE_HEADER_BYTES, n_json))
        return why_set(why, ERR_LIMIT, "over %d JSON values in a message", MESSAGE_MAX_VALUES);
    e = json_parse((const char *)p + MESSAGE_HEADER_BYTES, n_json, &m.json, why);
    if (!e && !cJSON_IsObject(m.json))
        e = why_set(why, ERR_PROTOCOL, "a message must be a JSON object");
    if (!e)
        e = take_blobs(&m, p + MESSAGE_HEADER_BYTES + n_json, n - MESSAGE_HEADER_BYTES - n_json, why);
    if (e) {
        message_fini(&m);
        return e == ERR_INPUT ? ERR_PROTOCOL : e;
    }
    *out = m;
    return ERR_OK;
}

size_t message_json_bytes(const void *bytes)
{
    return get_u32((const unsigned char *)bytes + 8);
}

void message_fini(struct message *m)
{
    if (!m)
        return;
    cJSON_Delete(m->json);
    free(m->blobs);
    *m = (struct message){0};
}

bool message_mac_is_right(const void *bytes, size_t n, const struct key *key, const char *nonce)
{
    uint8_t mac[SHA256_BYTES];

    if (n < MESSAGE_HEADER_BYTES + sizeof mac)
        return false;
    hmac_sha256(key->bytes, sizeof key->bytes, nonce, strlen(nonce), bytes, n - sizeof mac, mac);
    return bytes_equal_ct(mac, (const unsigned char *)bytes + n - sizeof mac, sizeof mac);
}

bool message_may_be_unsigned(const cJSON *reply)
{
    const cJSON *err = cJSON_GetObjectItemCaseSensitive(reply, "err");

    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(reply, "hello")) ||
           (cJSON_IsString(err) && strcmp(err->valuestring, "busy") == 0);
}

enum err message_error(const cJSON *reply, struct why *why)
{
    const cJSON *err = cJSON_GetObjectItemCaseSensitive(reply, "err");
    const cJSON *words = cJSON_GetObjectItemCaseSensitive(reply, "why");
    const enum err e = cJSON_IsString(err) ? err_by_name(err->valuestring) : ERR_PROTOCOL;

    return why_set(why, e ? e : ERR_PROTOCOL, "%s", cJSON_IsString(words) ? words->valuestring : err_words(e));
}
