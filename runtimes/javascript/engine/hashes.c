/* Hashes, checksums and keys from passwords: the loops over bytes that would be too slow in the interpreter. */
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "engine.h"

static JSClassID digest_class;

static void digest_free(JSRuntime *runtime, JSValueConst value)
{
    js_free_rt(runtime, JS_GetOpaque(value, digest_class));
}

static const JSClassDef digest_definition = { "Digest", .finalizer = digest_free };

/* A handle around a digest of its own. */
static JSValue handle_for(JSContext *ctx, const struct digest *source)
{
    JSRuntime *runtime = JS_GetRuntime(ctx);
    if (!digest_class)
        JS_NewClassID(runtime, &digest_class);
    if (!JS_IsRegisteredClass(runtime, digest_class) && JS_NewClass(runtime, digest_class, &digest_definition) < 0)
        return JS_EXCEPTION;
    JSValue handle = JS_NewObjectProtoClass(ctx, JS_NULL, digest_class);
    if (JS_IsException(handle))
        return handle;
    struct digest *digest = js_malloc(ctx, sizeof *digest);
    if (!digest) {
        JS_FreeValue(ctx, handle);
        return JS_EXCEPTION;
    }
    *digest = *source;
    JS_SetOpaque(handle, digest);
    return handle;
}

static struct digest *digest_in(JSContext *ctx, JSValueConst value)
{
    struct digest *digest = digest_class ? JS_GetOpaque(value, digest_class) : NULL;
    if (!digest)
        JS_ThrowTypeError(ctx, "not a digest");
    return digest;
}

static const struct digest_kind *kind_of(JSContext *ctx, JSValueConst value)
{
    const char *name = JS_ToCString(ctx, value);
    if (!name)
        return NULL;
    const struct digest_kind *kind = digest_find(name);
    JS_FreeCString(ctx, name);
    return kind;
}

/* hashNew(name) → handle, or undefined for a name that is not known. */
static BINDING(hash_new)
{
    const struct digest_kind *kind = kind_of(ctx, argv[0]);
    if (!kind)
        return JS_HasException(ctx) ? JS_EXCEPTION : JS_UNDEFINED;
    struct digest digest;
    digest_start(&digest, kind);
    return handle_for(ctx, &digest);
}

/* hashUpdate(handle, bytes) */
static BINDING(hash_update)
{
    size_t size;
    struct digest *digest = digest_in(ctx, argv[0]);
    if (!digest)
        return JS_EXCEPTION;
    const uint8_t *bytes = bytes_of(ctx, argv[1], &size);
    if (!bytes)
        return JS_EXCEPTION;
    digest_add(digest, bytes, size);
    return JS_UNDEFINED;
}

/* hashDigest(handle) → Uint8Array; the handle is used up. */
static BINDING(hash_digest)
{
    uint8_t out[DIGEST_MAX_OUTPUT];
    struct digest *digest = digest_in(ctx, argv[0]);
    if (!digest)
        return JS_EXCEPTION;
    digest_end(digest, out);
    return JS_NewUint8ArrayCopy(ctx, out, digest->kind->output);
}

/* hashCopy(handle) → another handle in the same state. */
static BINDING(hash_copy)
{
    const struct digest *digest = digest_in(ctx, argv[0]);
    return digest ? handle_for(ctx, digest) : JS_EXCEPTION;
}

/* crc32(bytes, start) → number */
static BINDING(hash_crc32)
{
    static uint32_t table[256];
    uint32_t value;
    size_t size;
    if (JS_ToUint32(ctx, &value, argv[1]))
        return JS_EXCEPTION;
    const uint8_t *bytes = bytes_of(ctx, argv[0], &size);
    if (!bytes)
        return JS_EXCEPTION;
    if (!table[1]) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t entry = i;
            for (int bit = 0; bit < 8; bit++)
                entry = entry & 1 ? entry >> 1 ^ 0xedb88320 : entry >> 1;
            table[i] = entry;
        }
    }
    value = ~value;
    for (size_t i = 0; i < size; i++)
        value = value >> 8 ^ table[(value ^ bytes[i]) & 255];
    return JS_NewUint32(ctx, ~value);
}

/* PBKDF2 (RFC 8018) with HMAC. */
static void derive(const struct keyed *keyed, const uint8_t *salt, size_t salt_size, uint32_t rounds, uint8_t *out, size_t size)
{
    const size_t step = keyed->inner.kind->output;
    for (uint32_t number = 1; size > 0; number++) {
        const uint8_t counter[4] = { (uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number };
        uint8_t value[DIGEST_MAX_OUTPUT], sum[DIGEST_MAX_OUTPUT];
        keyed_of(keyed, salt, salt_size, counter, sizeof counter, value);
        memcpy(sum, value, step);
        for (uint32_t round = 1; round < rounds; round++) {
            keyed_of(keyed, value, step, NULL, 0, value);
            for (size_t i = 0; i < step; i++)
                sum[i] ^= value[i];
        }
        const size_t part = size < step ? size : step;
        memcpy(out, sum, part);
        out += part;
        size -= part;
    }
}

/* pbkdf2(name, password, salt, rounds, out) → false for a name that is not known. */
static BINDING(hash_pbkdf2)
{
    size_t password_size, salt_size, size;
    uint32_t rounds;
    const struct digest_kind *kind = kind_of(ctx, argv[0]);
    if (!kind)
        return JS_HasException(ctx) ? JS_EXCEPTION : JS_FALSE;
    if (JS_ToUint32(ctx, &rounds, argv[3]))
        return JS_EXCEPTION;
    const uint8_t *password = bytes_of(ctx, argv[1], &password_size);
    const uint8_t *salt = password ? bytes_of(ctx, argv[2], &salt_size) : NULL;
    uint8_t *out = salt ? bytes_of(ctx, argv[4], &size) : NULL;
    if (!out)
        return JS_EXCEPTION;
    struct keyed keyed;
    keyed_start(&keyed, kind, password, password_size);
    derive(&keyed, salt, salt_size, rounds, out, size);
    return JS_TRUE;
}

static void salsa(uint32_t block[16])
{
    uint32_t x[16];
    memcpy(x, block, sizeof x);
#define TURN(a, b, c, by) x[a] ^= (x[b] + x[c]) << by | (x[b] + x[c]) >> (32 - by)
    for (int round = 0; round < 8; round += 2) {
        TURN(4, 0, 12, 7); TURN(8, 4, 0, 9); TURN(12, 8, 4, 13); TURN(0, 12, 8, 18);
        TURN(9, 5, 1, 7); TURN(13, 9, 5, 9); TURN(1, 13, 9, 13); TURN(5, 1, 13, 18);
        TURN(14, 10, 6, 7); TURN(2, 14, 10, 9); TURN(6, 2, 14, 13); TURN(10, 6, 2, 18);
        TURN(3, 15, 11, 7); TURN(7, 3, 15, 9); TURN(11, 7, 3, 13); TURN(15, 11, 7, 18);
        TURN(1, 0, 3, 7); TURN(2, 1, 0, 9); TURN(3, 2, 1, 13); TURN(0, 3, 2, 18);
        TURN(6, 5, 4, 7); TURN(7, 6, 5, 9); TURN(4, 7, 6, 13); TURN(5, 4, 7, 18);
        TURN(11, 10, 9, 7); TURN(8, 11, 10, 9); TURN(9, 8, 11, 13); TURN(10, 9, 8, 18);
        TURN(12, 15, 14, 7); TURN(13, 12, 15, 9); TURN(14, 13, 12, 13); TURN(15, 14, 13, 18);
    }
#undef TURN
    for (int i = 0; i < 16; i++)
        block[i] += x[i];
}

/* scrypt's mixing of 2r blocks: `in` to `out`, the even ones first. */
static void mix_blocks(const uint32_t *in, uint32_t *out, uint32_t r)
{
    uint32_t block[16];
    memcpy(block, in + (2 * r - 1) * 16, sizeof block);
    for (uint32_t i = 0; i < 2 * r; i++) {
        for (int j = 0; j < 16; j++)
            block[j] ^= in[i * 16 + j];
        salsa(block);
        memcpy(out + (i / 2 + (i % 2) * r) * 16, block, sizeof block);
    }
}

/* One lane of scrypt (RFC 7914); `table` has room for N lanes, `spare` for one. WebAssembly is little-endian, as scrypt is. */
static void mix_lane(uint32_t *lane, uint32_t *table, uint32_t *spare, uint32_t n, uint32_t r)
{
    const size_t words = 32 * (size_t)r;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(table + i * words, lane, words * 4);
        mix_blocks(lane, spare, r);
        memcpy(lane, spare, words * 4);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *chosen = table + (lane[(2 * r - 1) * 16] & (n - 1)) * words;
        for (size_t j = 0; j < words; j++)
            lane[j] ^= chosen[j];
        mix_blocks(lane, spare, r);
        memcpy(lane, spare, words * 4);
    }
}

/* scrypt(password, salt, N, r, p, out); N is a power of two, which the caller has checked, as the memory it needs. */
static BINDING(hash_scrypt)
{
    size_t password_size, salt_size, size;
    uint32_t n, r, p;
    if (JS_ToUint32(ctx, &n, argv[2]) || JS_ToUint32(ctx, &r, argv[3]) || JS_ToUint32(ctx, &p, argv[4]))
        return JS_EXCEPTION;
    const uint8_t *password = bytes_of(ctx, argv[0], &password_size);
    const uint8_t *salt = password ? bytes_of(ctx, argv[1], &salt_size) : NULL;
    uint8_t *out = salt ? bytes_of(ctx, argv[5], &size) : NULL;
    if (!out)
        return JS_EXCEPTION;
    const uint64_t lane_size = 128 * (uint64_t)r;
    if (!r || !p || n < 2 || (n & (n - 1)) || lane_size * n > INT32_MAX || lane_size * p > INT32_MAX)
        return JS_ThrowRangeError(ctx, "invalid scrypt params");
    uint8_t *lanes = js_malloc(ctx, (size_t)(lane_size * p));
    uint32_t *table = lanes ? js_malloc(ctx, (size_t)(lane_size * n)) : NULL;
    uint32_t *spare = table ? js_malloc(ctx, (size_t)lane_size) : NULL;
    if (spare) {
        struct keyed keyed;
        keyed_start(&keyed, digest_find("sha256"), password, password_size);
        derive(&keyed, salt, salt_size, 1, lanes, (size_t)(lane_size * p));
        for (uint32_t i = 0; i < p; i++)
            mix_lane((uint32_t *)(lanes + i * lane_size), table, spare, n, r);
        derive(&keyed, lanes, (size_t)(lane_size * p), 1, out, size);
    }
    js_free(ctx, lanes);
    js_free(ctx, table);
    const bool done = spare != NULL;
    js_free(ctx, spare);
    return done ? JS_UNDEFINED : JS_EXCEPTION;
}

const JSCFunctionListEntry hash_functions[] = {
    JS_CFUNC_DEF("hashNew", 1, hash_new),
    JS_CFUNC_DEF("hashUpdate", 2, hash_update),
    JS_CFUNC_DEF("hashDigest", 1, hash_digest),
    JS_CFUNC_DEF("hashCopy", 1, hash_copy),
    JS_CFUNC_DEF("crc32", 2, hash_crc32),
    JS_CFUNC_DEF("pbkdf2", 5, hash_pbkdf2),
    JS_CFUNC_DEF("scrypt", 6, hash_scrypt),
};
const int hash_function_count = sizeof hash_functions / sizeof *hash_functions;
