/* MD5, SHA-1, SHA-256 and SHA-512: what whole blocks of input do to the state. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Blocks of 64 bytes. */
void md5_blocks(uint32_t state[4], const uint8_t *bytes, size_t blocks);
void sha1_blocks(uint32_t state[5], const uint8_t *bytes, size_t blocks);
void sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks);
/* Blocks of 128 bytes. */
void sha512_blocks(uint64_t state[8], const uint8_t *bytes, size_t blocks);

#endif
