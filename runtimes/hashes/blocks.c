/* The inner loops of MD5 (RFC 1321), SHA-1 and SHA-2 (FIPS 180-4), for both guests.
 *
 * The rounds are unrolled: the words that they pass on then have no place in memory, and the engine, which counts fuel at every
 * branch, finds none. */
#include "blocks.h"

#include <string.h>
#include <wasm_simd128.h>

#define UNROLL _Pragma("clang loop unroll(full)")
#define INLINE static inline __attribute__((always_inline))

/* A part of a sum that is known early. The compiler would sort the terms otherwise, and wait for the late ones more than once. */
INLINE uint32_t early(uint32_t value)
{
    __asm__("" : "+r"(value));
    return value;
}

INLINE uint32_t left32(uint32_t value, int by) { return value << by | value >> (32 - by); }
INLINE uint32_t right32(uint32_t value, int by) { return value >> by | value << (32 - by); }
INLINE uint64_t right64(uint64_t value, int by) { return value >> by | value << (64 - by); }

INLINE uint32_t little32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

INLINE uint32_t big32(const uint8_t *bytes) { return __builtin_bswap32(little32(bytes)); }

INLINE uint64_t big64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return __builtin_bswap64(value);
}

void md5_blocks(uint32_t state[4], const uint8_t *bytes, size_t blocks)
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
    for (; blocks > 0; blocks--, bytes += 64) {
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        UNROLL
        for (int i = 0; i < 64; i++) {
            uint32_t f, known = a + sines[i];
            int word;
            switch (i / 16) {
            case 0: f = d ^ (b & early(c ^ d)); word = i; break;
            case 1: f = d & b; known += ~d & c; word = (5 * i + 1) % 16; break;
            case 2: f = b ^ early(c ^ d); word = (3 * i + 5) % 16; break;
            default: f = c ^ (b | ~d); word = 7 * i % 16;
            }
            uint32_t next = b + left32(early(known + little32(bytes + 4 * word)) + f, turns[i / 16][i % 4]);
            a = d; d = c; c = b; b = next;
        }
        state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    }
}

void sha1_blocks(uint32_t state[5], const uint8_t *bytes, size_t blocks)
{
    for (; blocks > 0; blocks--, bytes += 64) {
        uint32_t words[16], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
        UNROLL
        for (int i = 0; i < 80; i++) {
            uint32_t f, k, *word = &words[i % 16];
            if (i < 16)
                *word = big32(bytes + 4 * i);
            else
                *word = left32(words[(i + 13) % 16] ^ words[(i + 8) % 16] ^ words[(i + 2) % 16] ^ *word, 1);
            switch (i / 20) {
            case 0: f = d ^ (b & (c ^ d)); k = 0x5a827999; break;
            case 1: f = b ^ c ^ d; k = 0x6ed9eba1; break;
            case 2: f = (b & c) | (d & (b | c)); k = 0x8f1bbcdc; break;
            default: f = b ^ c ^ d; k = 0xca62c1d6;
            }
            uint32_t next = early(early(early(k + *word) + e) + f) + left32(a, 5);
            e = d; d = c; c = left32(b, 30); b = a; a = next;
        }
        state[0] += a; state[1] += b; state[2] += c; state[3] += d; state[4] += e;
    }
}

/* The fractions of the cube roots of the first 80 primes. */
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

/* The upper halves of the first 64 of them. */
static const uint32_t short_roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

#define RIGHT(words, by) wasm_v128_or(wasm_u32x4_shr(words, by), wasm_i32x4_shl(words, 32 - (by)))

/* The words 4 × i to 4 × i + 3 of SHA-256's schedule, from the 16 before them. */
INLINE v128_t next_words(const v128_t words[4], int i)
{
    const v128_t first = words[i % 4], last = words[(i + 3) % 4], zero = wasm_i32x4_const_splat(0);
    v128_t x = wasm_i32x4_shuffle(first, words[(i + 1) % 4], 1, 2, 3, 4);
    x = wasm_v128_xor(wasm_v128_xor(RIGHT(x, 7), RIGHT(x, 18)), wasm_u32x4_shr(x, 3));
    x = wasm_i32x4_add(wasm_i32x4_add(first, x), wasm_i32x4_shuffle(words[(i + 2) % 4], last, 1, 2, 3, 4));
    /* The last two words depend on the first two. */
    v128_t y = wasm_i32x4_shuffle(last, last, 2, 3, 2, 3);
    y = wasm_v128_xor(wasm_v128_xor(RIGHT(y, 17), RIGHT(y, 19)), wasm_u32x4_shr(y, 10));
    x = wasm_i32x4_add(x, wasm_i32x4_shuffle(y, zero, 0, 1, 4, 4));
    y = wasm_i32x4_shuffle(x, x, 0, 1, 0, 1);
    y = wasm_v128_xor(wasm_v128_xor(RIGHT(y, 17), RIGHT(y, 19)), wasm_u32x4_shr(y, 10));
    return wasm_i32x4_add(x, wasm_i32x4_shuffle(zero, y, 0, 0, 6, 7));
}

/* Macros instead of loops over an array: with those, what the compiler makes is half as fast. */
#define ROUND(a, b, c, d, e, f, g, h, word) \
    do { \
        const uint32_t t = h + (right32(e, 6) ^ right32(e, 11) ^ right32(e, 25)) + (g ^ (e & (f ^ g))) + (word); \
        d += t; \
        h = t + (right32(a, 2) ^ right32(a, 13) ^ right32(a, 22)) + ((a & b) | (c & (a | b))); \
    } while (0)

#define EIGHT_ROUNDS(i) \
    do { \
        ROUND(a, b, c, d, e, f, g, h, added[(i) + 0]); \
        ROUND(h, a, b, c, d, e, f, g, added[(i) + 1]); \
        ROUND(g, h, a, b, c, d, e, f, added[(i) + 2]); \
        ROUND(f, g, h, a, b, c, d, e, added[(i) + 3]); \
        ROUND(e, f, g, h, a, b, c, d, added[(i) + 4]); \
        ROUND(d, e, f, g, h, a, b, c, added[(i) + 5]); \
        ROUND(c, d, e, f, g, h, a, b, added[(i) + 6]); \
        ROUND(b, c, d, e, f, g, h, a, added[(i) + 7]); \
    } while (0)

void sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (; blocks > 0; blocks--, bytes += 64) {
        uint32_t added[64];
        v128_t words[4];
        UNROLL
        for (int i = 0; i < 16; i++) {
            if (i < 4) {
                v128_t little = wasm_v128_load(bytes + 16 * i);
                words[i] = wasm_i8x16_shuffle(little, little, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
            } else {
                words[i % 4] = next_words(words, i);
            }
            wasm_v128_store(added + 4 * i, wasm_i32x4_add(words[i % 4], wasm_v128_load(short_roots + 4 * i)));
        }
        EIGHT_ROUNDS(0); EIGHT_ROUNDS(8); EIGHT_ROUNDS(16); EIGHT_ROUNDS(24);
        EIGHT_ROUNDS(32); EIGHT_ROUNDS(40); EIGHT_ROUNDS(48); EIGHT_ROUNDS(56);
        state[0] = a += state[0]; state[1] = b += state[1]; state[2] = c += state[2]; state[3] = d += state[3];
        state[4] = e += state[4]; state[5] = f += state[5]; state[6] = g += state[6]; state[7] = h += state[7];
    }
}

void sha512_blocks(uint64_t state[8], const uint8_t *bytes, size_t blocks)
{
    uint64_t v[8];
    memcpy(v, state, sizeof v);
    for (; blocks > 0; blocks--, bytes += 128) {
        uint64_t words[16];
        UNROLL
        for (int i = 0; i < 80; i++) {
            uint64_t *word = &words[i % 16];
            if (i < 16) {
                *word = big64(bytes + 8 * i);
            } else {
                uint64_t x = words[(i + 1) % 16], y = words[(i + 14) % 16];
                *word += (right64(x, 1) ^ right64(x, 8) ^ x >> 7) + words[(i + 9) % 16] + (right64(y, 19) ^ right64(y, 61) ^ y >> 6);
            }
            uint64_t e = v[4], a = v[0];
            uint64_t t1 = v[7] + (right64(e, 14) ^ right64(e, 18) ^ right64(e, 41)) + (v[6] ^ (e & (v[5] ^ v[6]))) + roots[i] + *word;
            uint64_t t2 = (right64(a, 28) ^ right64(a, 34) ^ right64(a, 39)) + ((a & v[1]) | (v[2] & (a | v[1])));
            v[7] = v[6]; v[6] = v[5]; v[5] = e; v[4] = v[3] + t1;
            v[3] = v[2]; v[2] = v[1]; v[1] = a; v[0] = t1 + t2;
        }
        UNROLL
        for (int i = 0; i < 8; i++)
            state[i] = v[i] += state[i];
    }
}
