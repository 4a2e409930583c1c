/* SQLite as an extension module of the guest, so that componentize-py links it in.
 *
 * CPython's own `_sqlite3` stays as it is: the merged guest calls the functions of this library wherever the
 * interpreter calls one of the same name. Importing the module makes SQLite ready before
 * the snapshot, and tells its version.
 */

#include "../extension.h"
#include "sqlite3.h"
#include <time.h>
#include <unistd.h>

extern int PyModule_AddStringConstant(Object *, const char *, const char *);
extern Object *PyObject_CallFunction(Object *, const char *, ...);
extern int PyArg_ParseTuple(Object *, const char *, ...);
extern int PyGILState_Ensure(void);
extern void PyGILState_Release(int);
extern void PyErr_Clear(void);
extern void Py_IncRef(Object *);
extern void Py_DecRef(Object *);
extern Object *PyExc_ImportError;
extern Object _Py_NoneStruct;

/* The most that `getentropy` gives at once. */
enum { ENTROPY_PIECE = 256 };

/* What tells the local time of a second since 1970, as `time.localtime` does: the C library here knows no
 * zone but UTC. */
static Object *local_time;

static Object *set_clock(Object *module, Object *callable) {
    (void)module;
    Py_IncRef(callable);
    Py_DecRef(local_time);
    local_time = callable;
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* SQLite calls this in place of `localtime`, without holding the interpreter's lock. */
struct tm *skillrun_localtime(const time_t *second) {
    static struct tm found;
    if (local_time == 0) {
        return gmtime(second);
    }
    int lock = PyGILState_Ensure();
    int known = 0;
    Object *tuple = PyObject_CallFunction(local_time, "L", (long long)*second);
    if (tuple != 0) {
        known = PyArg_ParseTuple(tuple, "iiiiiiiii", &found.tm_year, &found.tm_mon, &found.tm_mday,
                                 &found.tm_hour, &found.tm_min, &found.tm_sec, &found.tm_wday,
                                 &found.tm_yday, &found.tm_isdst);
        Py_DecRef(tuple);
    }
    if (!known) {
        PyErr_Clear();
    }
    PyGILState_Release(lock);
    /* Python counts years from 0 and months and days of the year from 1. */
    found.tm_year -= 1900;
    found.tm_mon -= 1;
    found.tm_yday -= 1;
    return known ? &found : 0;
}

/* Seeds SQLite's generator. SQLite itself would read /dev/urandom, which does not exist here, and then take the
 * time in seconds. */
static int fresh_bytes(sqlite3_vfs *vfs, int count, char *bytes) {
    (void)vfs;
    for (int done = 0; done < count; done += ENTROPY_PIECE) {
        int left = count - done;
        if (getentropy(bytes + done, left < ENTROPY_PIECE ? left : ENTROPY_PIECE) != 0) {
            __builtin_trap();
        }
    }
    return count;
}

/* Empties SQLite's generator, so that its next use seeds it. Called last before the snapshot: a seed in there
 * would give every run the same numbers. */
static Object *forget_seed(Object *module, Object *nothing) {
    (void)module, (void)nothing;
    sqlite3_randomness(0, 0);
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static Method methods[] = {
    {.name = "forget_seed", .function = forget_seed, .flags = NO_ARGUMENTS},
    {.name = "set_clock", .function = set_clock, .flags = ONE_ARGUMENT},
    {0},
};

static Definition definition = {
    .object = {.references = 1},
    .name = "_skillrun_sqlite",
    .state_size = -1,
    .methods = methods,
};

__attribute__((visibility("default"))) Object *PyInit__skillrun_sqlite(void) {
    if (sqlite3_initialize() != SQLITE_OK) {
        PyErr_SetString(PyExc_ImportError, "SQLite cannot be initialised");
        return 0;
    }
    sqlite3_vfs_find(0)->xRandomness = fresh_bytes;
    Object *module = PyModule_Create2(&definition, STABLE_INTERFACE);
    if (module != 0 && PyModule_AddStringConstant(module, "version", sqlite3_libversion()) != 0) {
        return 0;
    }
    return module;
}

typedef unsigned long long Word;
typedef struct {
    Word low;
    Word high;
} Wide;

/* Multiplies 128-bit numbers. The compiler calls it, and the guest's C library has none. */
Wide __multi3(Word low, Word high, Word other_low, Word other_high) {
    const Word half = 0xffffffff;
    Word a = low & half, b = low >> 32, c = other_low & half, d = other_low >> 32;
    Word first = a * c;
    Word second = b * c + (first >> 32);
    Word third = a * d + (second & half);
    return (Wide){
        .low = third << 32 | (first & half),
        .high = b * d + (second >> 32) + (third >> 32) + low * other_high + high * other_low,
    };
}
