/* Makes the objects of the snapshot immortal: the interpreter no longer counts references to them.
 *
 * Counting writes to the object, so without this a run would write a page for nearly every object of the snapshot that it uses,
 * and the host would have to copy that page back. CPython offers this to extension modules only from 3.15 on, so the
 * count is set here, as 3.14 does it itself for `None` and interned names. Setting the counts in the finished image was
 * rejected: the code would have been specialised for counted objects by then, and goes on counting.
 */

#include "../extension.h"

extern int PyList_Size(Object *);
extern Object *PyList_GetItem(Object *, int);
extern Object *PyList_New(int);
extern int PyList_Append(Object *, Object *);
extern Object *PyExc_SystemError;

/* From `refcount.h` of 3.14, for pointers of 32 bits. The value is far from both ends of the range in which an object counts as
 * immortal, because some instructions count without looking at it. */
enum { SMALLEST_IMMORTAL = 1 << 30, IMMORTAL = 5 << 28 };

/* More references than any object of the snapshot has: what is found beyond is no count. */
enum { MOST_REFERENCES = 1 << 22 };

/* Makes the objects in a list immortal; returns a list of those that were not. */
static Object *immortalize(Object *module, Object *objects) {
    (void)module;
    int size = PyList_Size(objects);
    Object *fresh = PyList_New(0);
    if (size < 0 || fresh == 0) {
        return 0;
    }
    for (int at = 0; at < size; at++) {
        Object *object = PyList_GetItem(objects, at);
        if (object->references >= SMALLEST_IMMORTAL) {
            continue;
        }
        if (object->references <= 0 || object->references > MOST_REFERENCES) {
            PyErr_SetString(PyExc_SystemError, "an object does not begin with its reference count");
            return 0;
        }
        object->references = IMMORTAL;
        if (PyList_Append(fresh, object) != 0) {
            return 0;
        }
    }
    return fresh;
}

static Method methods[] = {
    {.name = "immortalize", .function = immortalize, .flags = ONE_ARGUMENT},
    {0},
};

static Definition definition = {
    .object = {.references = 1},
    .name = "_skillrun_immortal",
    .state_size = -1,
    .methods = methods,
};

__attribute__((visibility("default"))) Object *PyInit__skillrun_immortal(void) {
    return PyModule_Create2(&definition, STABLE_INTERFACE);
}
