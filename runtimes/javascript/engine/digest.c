/* MD5 (RFC 1321), SHA-1 and SHA-2 (FIPS 180-4), HMAC (RFC 2104). */
#include "digest.h"

#include <string.h>

#include "blocks.h"

static void mix_md5(struct digest *digest, const uint8_t *bytes, size_t blocks) { md5_blocks(digest->state.narrow, bytes, blocks); }
static void mix_sha1(struct digest *digest, const uint8_t *bytes, size_t blocks) { sha1_blocks(digest->state.narrow, bytes, blocks); }
static void mix_sha256(struct digest *digest, const uint8_t *bytes, size_t blocks) { sha256_blocks(digest->state.narrow, bytes, blocks); }
static void mix_sha512(struct digest *digest, const uint8_t *bytes, size_t blocks) { sha512_blocks(digest->state.wide, bytes, blocks); }

static const uint32_t start_md5[8] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
static const uint32_t start_sha1[8] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
static const uint32_t start_sha224[8] = {
    0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4,
};
static const uint32_t start_sha256[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};
static const uint64_t start_sha384[8] = {
    0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939,
    0x67332667ffc00b31, 0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4,
};
static const uint64_t start_sha512[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static const struct digest_kind kinds[] = {
    { "md5", 64, 16, 0, 1, start_md5, mix_md5 },
    { "sha1", 64, 20, 0, 0, start_sha1, mix_sha1 },
    { "sha224", 64, 28, 0, 0, start_sha224, mix_sha256 },
    { "sha256", 64, 32, 0, 0, start_sha256, mix_sha256 },
    { "sha384", 128, 48, 1, 0, start_sha384, mix_sha512 },
    { "sha512", 128, 64, 1, 0, start_sha512, mix_sha512 },
};

const struct digest_kind *digest_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}

void digest_start(struct digest *digest, const struct digest_kind *kind)
{
    memset(digest, 0, sizeof *digest);
    digest->kind = kind;
    memcpy(&digest->state, kind->start, kind->wide ? sizeof digest->state.wide : sizeof digest->state.narrow);
}

void digest_add(struct digest *digest, const uint8_t *bytes, size_t size)
{
    const size_t block = digest->kind->block;
    size_t held = (size_t)(digest->length % block);
    digest->length += size;
    if (held > 0) {
        size_t part = size < block - held ? size : block - held;
        memcpy(digest->rest + held, bytes, part);
        bytes += part;
        size -= part;
        if (held + part < block)
            return;
        digest->kind->mix(digest, digest->rest, 1);
    }
    digest->kind->mix(digest, bytes, size / block);
    bytes += size / block * block;
    size %= block;
    if (size > 0)
        memcpy(digest->rest, bytes, size);
}

void digest_end(struct digest *digest, uint8_t *out)
{
    const struct digest_kind *kind = digest->kind;
    const size_t block = kind->block, counter = kind->wide ? 16 : 8;
    const uint64_t bits = digest->length * 8;
    size_t held = (size_t)(digest->length % block);
    digest->rest[held++] = 0x80;
    if (held > block - counter) {
        memset(digest->rest + held, 0, block - held);
        kind->mix(digest, digest->rest, 1);
        held = 0;
    }
    memset(digest->rest + held, 0, block - held);
    for (int i = 0; i < 8; i++)
        digest->rest[kind->little_endian ? block - counter + i : block - 1 - i] = (uint8_t)(bits >> 8 * i);
    kind->mix(digest, digest->rest, 1);
    for (size_t i = 0; i < kind->output; i++) {
        if (kind->wide)
            out[i] = (uint8_t)(digest->state.wide[i / 8] >> (56 - 8 * (i % 8)));
        else if (kind->little_endian)
            out[i] = (uint8_t)(digest->state.narrow[i / 4] >> 8 * (i % 4));
        else
            out[i] = (uint8_t)(digest->state.narrow[i / 4] >> (24 - 8 * (i % 4)));
    }
}

void keyed_start(struct keyed *keyed, const struct digest_kind *kind, const uint8_t *key, size_t size)
{
    uint8_t block[DIGEST_MAX_BLOCK] = { 0 };
    if (size > kind->block) {
        digest_start(&keyed->inner, kind);
        digest_add(&keyed->inner, key, size);
        digest_end(&keyed->inner, block);
    } else if (size > 0) {
        memcpy(block, key, size);
    }
    for (size_t i = 0; i < kind->block; i++)
        block[i] ^= 0x36;
    digest_start(&keyed->inner, kind);
    digest_add(&keyed->inner, block, kind->block);
    for (size_t i = 0; i < kind->block; i++)
        block[i] ^= 0x36 ^ 0x5c;
    digest_start(&keyed->outer, kind);
    digest_add(&keyed->outer, block, kind->block);
}

void keyed_of(const struct keyed *keyed, const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size, uint8_t *out)
{
    struct digest inner = keyed->inner, outer = keyed->outer;
    digest_add(&inner, first, first_size);
    if (second_size > 0)
        digest_add(&inner, second, second_size);
    digest_end(&inner, out);
    digest_add(&outer, out, outer.kind->output);
    digest_end(&outer, out);
}
