/* The interpreter, and what of the engine needs its insides: taken in as one unit, since nothing in its header
 * tells a stack frame's place, a collection's entries or how its random numbers are seeded. */
#include <string.h>

#include "engine.h"

#include "inside/before.c"
#include "inside/context.c"
#include "quickjs.c"

#include "inside/heap.c"
#include "inside/values.c"
#include "inside/frames.c"
#include "inside/stack.c"
#include "inside/modules.c"

const JSCFunctionListEntry inside_functions[] = {
    JS_CFUNC_DEF("getContext", 0, context_get),
    JS_CFUNC_DEF("setContext", 1, context_set),
    JS_CFUNC_DEF("promiseDetails", 1, value_promise_details),
    JS_CFUNC_DEF("proxyDetails", 1, value_proxy_details),
    JS_CFUNC_DEF("className", 1, value_class_name),
    JS_CFUNC_DEF("previewEntries", 1, value_preview_entries),
    JS_CFUNC_DEF("ownNonIndex", 1, value_own_non_index),
    JS_CFUNC_DEF("takeOverStacks", 0, stack_take_over),
    JS_CFUNC_DEF("setWords", 1, stack_set_words),
    JS_CFUNC_DEF("forgetThrow", 0, stack_forget_throw),
    JS_CFUNC_DEF("thrownAt", 0, stack_thrown_at),
    JS_CFUNC_DEF("importNow", 2, module_import_now),
};
const int inside_function_count = sizeof inside_functions / sizeof *inside_functions;
