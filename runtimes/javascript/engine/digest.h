/* Hash functions that take their input piece by piece: MD5, SHA-1 and the SHA-2 family. */
#ifndef DIGEST_H
#define DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_MAX_BLOCK = 128, DIGEST_MAX_OUTPUT = 64 };

struct digest;

struct digest_kind {
    const char *name;
    size_t block, output;
    int wide; /* words of 64 bits instead of 32 */
    int little_endian;
    const void *start; /* the first state */
    void (*mix)(struct digest *, const uint8_t *bytes, size_t blocks);
};

struct digest {
    const struct digest_kind *kind;
    union {
        uint32_t narrow[8];
        uint64_t wide[8];
    } state;
    uint64_t length;
    uint8_t rest[DIGEST_MAX_BLOCK]; /* what does not fill a block yet */
};

/* The kind of that name; NULL if there is none. */
const struct digest_kind *digest_find(const char *name);
void digest_start(struct digest *, const struct digest_kind *);
void digest_add(struct digest *, const uint8_t *bytes, size_t size);
/* Writes kind->output bytes; the digest is used up. */
void digest_end(struct digest *, uint8_t *out);

/* A keyed digest (HMAC): the two hashes after their key blocks, from which every message starts. */
struct keyed {
    struct digest inner, outer;
};
void keyed_start(struct keyed *, const struct digest_kind *, const uint8_t *key, size_t size);
/* The HMAC of two pieces, one after the other. */
void keyed_of(const struct keyed *, const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size, uint8_t *out);

#endif
