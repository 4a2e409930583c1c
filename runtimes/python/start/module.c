/* What the start of every run does in the interpreter, in C: setting environment variables and seeding `random` take a hundred
 * thousand instructions each in Python. See `_skillrun/environment.py`.
 *
 * The interpreter's headers are not to be had, so the little that is needed of its interface is declared here.
 */

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

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
extern int PyArg_ParseTuple(Object *, const char *, ...);
extern Object *PyBytes_FromStringAndSize(const char *, int);
extern int PyDict_SetItem(Object *, Object *, Object *);
extern void PyErr_SetString(Object *, const char *);
extern Object *PyErr_SetFromErrno(Object *);
extern void Py_IncRef(Object *);
extern void Py_DecRef(Object *);
extern Object *PyExc_OSError;
extern Object *PyExc_SystemError;
extern Object _Py_NoneStruct;

enum { STABLE_INTERFACE = 3, ARGUMENTS = 1, ONE_ARGUMENT = 8 };

static Object *nothing(void)
{
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* The dict of bytes in which `os.environ` keeps the variables. */
static Object *variables;

/* remember_variables(dict) */
static Object *remember_variables(Object *module, Object *dict)
{
    (void)module;
    Py_IncRef(dict);
    variables = dict;
    return nothing();
}

/* set_variable(name, value): there, and in libc's environment. */
static Object *set_variable(Object *module, Object *arguments)
{
    (void)module;
    const char *name, *value;
    int name_size, value_size;
    if (!PyArg_ParseTuple(arguments, "s#s#", &name, &name_size, &value, &value_size))
        return 0;
    if (setenv(name, value, 1) != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    Object *key = PyBytes_FromStringAndSize(name, name_size);
    Object *bytes = key ? PyBytes_FromStringAndSize(value, value_size) : 0;
    int failed = !bytes || PyDict_SetItem(variables, key, bytes) != 0;
    if (bytes)
        Py_DecRef(bytes);
    if (key)
        Py_DecRef(key);
    return failed ? 0 : nothing();
}

/* `_random.Random` of 3.14: a Mersenne Twister, whose next number is made of the word at `index`. At the end of the words it
 * makes new ones of them first. */
enum { WORDS = 624 };

typedef struct {
    Object object;
    int index;
    uint32_t words[WORDS];
} Generator;

static uint64_t turned(uint64_t value, int by) { return value << by | value >> (64 - by); }

/* seed(generator): from 256 bits that nobody guesses. `random.seed` stretches its seed with two passes over the state that
 * depend on each other, at 40 times the fuel; xoshiro256** does it here, in the same number of steps for every seed. */
static Object *seed(Object *module, Object *object)
{
    (void)module;
    Generator *generator = (Generator *)object;
    uint64_t s[4];
    if (getentropy(s, sizeof s) != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    s[0] |= 1; /* Not all of it may be zero. */
    for (int i = 0; i < WORDS; i += 2) {
        uint64_t word = turned(s[1] * 5, 7) * 9, shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = turned(s[3], 45);
        generator->words[i] = (uint32_t)word;
        generator->words[i + 1] = (uint32_t)(word >> 32);
    }
    generator->words[0] = UINT32_C(1) << 31; /* As after every seed; of the word before it, nothing but this bit is used. */
    generator->index = WORDS;
    return nothing();
}

/* check(generator): that its words lie where `seed` writes them. They must be 1 to 624. */
static Object *check(Object *module, Object *object)
{
    (void)module;
    Generator *generator = (Generator *)object;
    int differs = generator->index != WORDS;
    for (int i = 0; i < WORDS; i++)
        differs |= generator->words[i] != (uint32_t)i + 1;
    if (differs) {
        PyErr_SetString(PyExc_SystemError, "a random number generator has another layout");
        return 0;
    }
    return nothing();
}

static Method methods[] = {
    {.name = "remember_variables", .function = remember_variables, .flags = ONE_ARGUMENT},
    {.name = "set_variable", .function = set_variable, .flags = ARGUMENTS},
    {.name = "seed", .function = seed, .flags = ONE_ARGUMENT},
    {.name = "check", .function = check, .flags = ONE_ARGUMENT},
    {0},
};

static Definition definition = {
    .object = {.references = 1},
    .name = "_skillrun_start",
    .state_size = -1,
    .methods = methods,
};

__attribute__((visibility("default"))) Object *PyInit__skillrun_start(void)
{
    return PyModule_Create2(&definition, STABLE_INTERFACE);
}
