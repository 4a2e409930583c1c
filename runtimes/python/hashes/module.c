/* Faster SHA-1, SHA-224 and SHA-256 for the interpreter's `hashlib`, as an extension module of the guest, so that componentize-py
 * links it in.
 *
 * The interpreter's own modules stay as they are. The merged guest calls these functions where the interpreter calls those that
 * follow the prefix (see `INSTEAD_OF` in build/graph.rs): the inner loops of HACL*, which have these signatures in CPython 3.14.
 * Its MD5 and SHA-512 are as fast as ours.
 * The interpreter's headers are not to be had, so the little that is needed of its stable interface is declared here.
 */

#include "blocks.h"

#define VISIBLE __attribute__((visibility("default")))

VISIBLE void instead_of__Py_LibHacl_Hacl_Hash_SHA1_update_multi(uint32_t *state, uint8_t *bytes, uint32_t blocks)
{
    sha1_blocks(state, bytes, blocks);
}

VISIBLE void instead_of__Py_LibHacl_Hacl_Hash_SHA2_sha256_update_nblocks(uint32_t size, uint8_t *bytes, uint32_t *state)
{
    sha256_blocks(state, bytes, size / 64);
}

/* Where the compiler has put the function above into its callers, this one is called. */
VISIBLE void instead_of_sha256_update(uint8_t *bytes, uint32_t *state) { sha256_blocks(state, bytes, 1); }

typedef struct Definition {
    struct {
        int references;
        void *type;
    } object;
    void *init;
    int index;
    void *copy;
    const char *name;
    const char *doc;
    int state_size;
    void *methods, *slots, *traverse, *clear, *release;
} Definition;

extern void *PyModule_Create2(Definition *, int);

enum { STABLE_INTERFACE = 3 };

VISIBLE void *PyInit__skillrun_hashes(void)
{
    static Definition definition = { .object = { .references = 1 }, .name = "_skillrun_hashes", .state_size = -1 };
    return PyModule_Create2(&definition, STABLE_INTERFACE);
}
