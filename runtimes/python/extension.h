/* The part of CPython's interface that more than one extension module of the guest uses.
 *
 * The interpreter's headers are not to be had, so the little that is needed is declared here, for pointers of 32 bits. The
 * types are those of the stable interface.
 */

typedef struct {
    int references;
    void *type;
} Object;

typedef struct {
    const char *name;
    Object *(*function)(Object *, Object *);
    int flags;
    const char *doc;
} Method;

typedef struct {
    Object object;
    Object *(*init)(void);
    int index;
    Object *copy;
    const char *name;
    const char *doc;
    int state_size;
    Method *methods;
    void *slots;
    void *traverse;
    void *clear;
    void *release;
} Definition;

extern Object *PyModule_Create2(Definition *, int);
extern void PyErr_SetString(Object *, const char *);

enum { STABLE_INTERFACE = 3, NO_ARGUMENTS = 4, ONE_ARGUMENT = 8 };
