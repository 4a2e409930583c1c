/* MD5 (RFC 1321), SHA-1 and SHA-2 (FIPS 180-4), HMAC (RFC 2104). */
#include "digest.h"

#include <string.h>

static uint32_t left32(uint32_t value, int by) { return value << by | value >> (32 - by); }
static uint32_t right32(uint32_t value, int by) { return value >> by | value << (32 - by); }
static uint64_t right64(uint64_t value, int by) { return value >> by | value << (64 - by); }

static uint32_t big32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t little32(const uint8_t *bytes)
{
    return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

static uint64_t big64(const uint8_t *bytes) { return (uint64_t)big32(bytes) << 32 | big32(bytes + 4); }

static void mix_md5(struct digest *digest, const uint8_t *block)
{
    /* The whole part of 2^32 × |sin(i)|. */
    static const uint32_t sines[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
        0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
        0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
        0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
        0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
        0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
    };
    static const uint8_t turns[4][4] = { { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 } };
    uint32_t *state = digest->state.narrow, words[16];
    for (int i = 0; i < 16; i++)
        words[i] = little32(block + 4 * i);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 64; i++) {
        uint32_t f;
        int word;
        switch (i / 16) {
        case 0: f = (b & c) | (~b & d); word = i; break;
        case 1: f = (d & b) | (~d & c); word = (5 * i + 1) % 16; break;
        case 2: f = b ^ c ^ d; word = (3 * i + 5) % 16; break;
        default: f = c ^ (b | ~d); word = 7 * i % 16;
        }
        uint32_t next = b + left32(a + f + sines[i] + words[word], turns[i / 16][i % 4]);
        a = d; d = c; c = b; b = next;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
}

static void mix_sha1(struct digest *digest, const uint8_t *block)
{
    uint32_t *state = digest->state.narrow, words[80];
    for (int i = 0; i < 16; i++)
        words[i] = big32(block + 4 * i);
    for (int i = 16; i < 80; i++)
        words[i] = left32(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 80; i++) {
        uint32_t f, k;
        switch (i / 20) {
        case 0: f = (b & c) | (~b & d); k = 0x5a827999; break;
        case 1: f = b ^ c ^ d; k = 0x6ed9eba1; break;
        case 2: f = (b & c) | (b & d) | (c & d); k = 0x8f1bbcdc; break;
        default: f = b ^ c ^ d; k = 0xca62c1d6;
        }
        uint32_t next = left32(a, 5) + f + e + k + words[i];
        e = d; d = c; c = left32(b, 30); b = a; a = next;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d; state[4] += e;
}

/* The fractions of the cube roots of the first 80 primes; SHA-256 takes the upper halves of the first 64. */
static const uint64_t roots[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

static void mix_sha256(struct digest *digest, const uint8_t *block)
{
    uint32_t *state = digest->state.narrow, words[64], v[8];
    for (int i = 0; i < 16; i++)
        words[i] = big32(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t x = words[i - 15], y = words[i - 2];
        words[i] = words[i - 16] + (right32(x, 7) ^ right32(x, 18) ^ x >> 3) + words[i - 7] + (right32(y, 17) ^ right32(y, 19) ^ y >> 10);
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (right32(e, 6) ^ right32(e, 11) ^ right32(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + (uint32_t)(roots[i] >> 32) + words[i];
        uint32_t t2 = (right32(a, 2) ^ right32(a, 13) ^ right32(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        v[7] = v[6]; v[6] = v[5]; v[5] = e; v[4] = v[3] + t1;
        v[3] = v[2]; v[2] = v[1]; v[1] = a; v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

static void mix_sha512(struct digest *digest, const uint8_t *block)
{
    uint64_t *state = digest->state.wide, words[80], v[8];
    for (int i = 0; i < 16; i++)
        words[i] = big64(block + 8 * i);
    for (int i = 16; i < 80; i++) {
        uint64_t x = words[i - 15], y = words[i - 2];
        words[i] = words[i - 16] + (right64(x, 1) ^ right64(x, 8) ^ x >> 7) + words[i - 7] + (right64(y, 19) ^ right64(y, 61) ^ y >> 6);
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 80; i++) {
        uint64_t e = v[4], a = v[0];
        uint64_t t1 = v[7] + (right64(e, 14) ^ right64(e, 18) ^ right64(e, 41)) + ((e & v[5]) ^ (~e & v[6])) + roots[i] + words[i];
        uint64_t t2 = (right64(a, 28) ^ right64(a, 34) ^ right64(a, 39)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        v[7] = v[6]; v[6] = v[5]; v[5] = e; v[4] = v[3] + t1;
        v[3] = v[2]; v[2] = v[1]; v[1] = a; v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

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
        digest->kind->mix(digest, digest->rest);
    }
    for (; size >= block; bytes += block, size -= block)
        digest->kind->mix(digest, bytes);
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
        kind->mix(digest, digest->rest);
        held = 0;
    }
    memset(digest->rest + held, 0, block - held);
    for (int i = 0; i < 8; i++)
        digest->rest[kind->little_endian ? block - counter + i : block - 1 - i] = (uint8_t)(bits >> 8 * i);
    kind->mix(digest, digest->rest);
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
