/* The engine's exports: `compile` compiles the Node layer, and `prepare` evaluates it in another instance, once, when the
 * snapshot is made; `run` runs a script, once, in a copy of that snapshot; `cabi_realloc` gives the host memory for arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/api.h>

#include "engine.h"

/* The linear memory's stack has 8 MiB (see the link step); C code below the last check needs some of it. */
enum { STACK_SIZE = 7 << 20 };
/* Cycles are collected when the heap has grown by this much: most scripts end before that. */
enum { FIRST_COLLECTION = 32 << 20 };

static JSRuntime *runtime;
static JSContext *context;
static JSValue main_function;

static BINDING(set_main)
{
    main_function = JS_DupValue(ctx, argv[0]);
    return JS_UNDEFINED;
}

static const JSCFunctionListEntry entry_functions[] = {
    JS_CFUNC_DEF("setMain", 1, set_main),
};

static JSValue make_binding(JSContext *ctx)
{
    const struct { const JSCFunctionListEntry *functions; int count; } parts[] = {
        { entry_functions, 1 },
        { inside_functions, inside_function_count },
        { file_functions, file_function_count },
        { path_functions, path_function_count },
        { text_functions, text_function_count },
        { system_functions, system_function_count },
        { module_functions, module_function_count },
        { transpile_functions, transpile_function_count },
        { hash_functions, hash_function_count },
        { zone_functions, zone_function_count },
    };
    JSValue binding = JS_NewObjectProto(ctx, JS_NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !JS_IsException(binding); i++)
        if (JS_SetPropertyFunctionList(ctx, binding, parts[i].functions, parts[i].count) < 0)
            return JS_EXCEPTION;
    return binding;
}

/* Says what went wrong before the Node layer can; `status` ends the process. */
static _Noreturn void die(const char *what, int status)
{
    if (context) {
        JSValue error = JS_GetException(context);
        const char *text = JS_ToCString(context, error);
        JSValue stack = JS_GetPropertyStr(context, error, "stack");
        const char *trace = JS_ToCString(context, stack);
        fprintf(stderr, "%s: %s\n%s\n", what, text ? text : "?", trace ? trace : "");
    } else {
        fprintf(stderr, "%s\n", what);
    }
    _Exit(status);
}

static char *read_input(size_t *length)
{
    size_t capacity = 1 << 20;
    char *text = memory_allocate(capacity);
    *length = 0;
    for (;;) {
        if (!text)
            die("no memory for the Node layer", 70);
        ssize_t count = read(0, text + *length, capacity - *length - 1);
        if (count < 0)
            die("cannot read the Node layer from stdin", 74);
        if (count == 0)
            break;
        *length += (size_t)count;
        if (capacity - *length < 2)
            text = memory_resize(text, capacity *= 2);
    }
    text[*length] = 0;
    return text;
}

struct text {
    const char *bytes;
    size_t length;
};

/* The Node layer, an expression that gives a function, as bytecode without its text: a function of it that a script
 * prints then shows `[native code]`, and the snapshot is smaller. An instance of its own compiles it: that takes twice the
 * memory of the snapshot. */
__attribute__((export_name("compile"))) const struct text *compile(void)
{
    static struct text bytecode;
    runtime = JS_NewRuntime2(&memory_functions, NULL);
    context = runtime ? interpreter_new(runtime) : NULL;
    if (!context)
        die("no memory for the interpreter", 70);
    size_t length;
    char *text = read_input(&length);
    JSValue code = JS_Eval(context, text, length, "node:internal", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
    if (JS_IsException(code))
        die("the Node layer does not compile", 70);
    uint8_t *bytes = JS_WriteObject(context, &bytecode.length, code, JS_WRITE_OBJ_BYTECODE | JS_WRITE_OBJ_STRIP_SOURCE);
    if (!bytes)
        die("no memory for the Node layer", 70);
    bytecode.bytes = (const char *)bytes;
    return &bytecode;
}

static JSValue read_layer(uint8_t *bytes, size_t size)
{
    JSValue code = JS_ReadObject(context, bytes, size, JS_READ_OBJ_BYTECODE);
    memory_free(bytes);
    return JS_IsException(code) ? code : JS_EvalFunction(context, code);
}

/* What is below the stack's end now was left there by calls that have returned. */
static __attribute__((noinline)) void wipe_stack(void)
{
    volatile char here;
    for (volatile char *at = &here - 4096; at > &here - STACK_SIZE; at--)
        *at = 0;
}

/* libc's allocator asks for more memory for each size that is new to it: what it allocates while a run begins needs none then. */
static void make_room_for_libc(void)
{
    for (size_t size = 8; size <= 1024; size *= 2) {
        void *volatile room = malloc(size);
        free(room);
    }
}

__attribute__((export_name("prepare"))) void prepare(uint8_t *bytes, size_t size)
{
    make_room_for_libc();
    runtime = JS_NewRuntime2(&memory_functions, NULL);
    if (!runtime)
        die("no memory for the interpreter", 70);
    JS_SetMaxStackSize(runtime, STACK_SIZE);
    modules_init(runtime);
    context = interpreter_new(runtime);
    if (!context)
        die("no memory for the interpreter", 70);
    main_function = JS_UNDEFINED;

    JSValue layer = read_layer(bytes, size);
    JSValue binding = JS_IsException(layer) ? JS_EXCEPTION : make_binding(context);
    JSValue done = JS_IsException(binding) ? JS_EXCEPTION
                                           : JS_Call(context, layer, JS_UNDEFINED, 1, (JSValueConst *)&binding);
    if (JS_IsException(done) || !interpreter_make_last_error(context))
        die("the Node layer failed", 70);
    JS_FreeValue(context, done);
    JS_FreeValue(context, binding);
    JS_FreeValue(context, layer);
    if (!interpreter_keep(runtime))
        die("no memory for the snapshot", 70);
    wipe_stack();
}

__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size)
{
    (void)old_size;
    if (size == 0)
        return (void *)align;
    void *memory = memory_resize(old, size);
    if (!memory)
        abort();
    return memory;
}

static JSValue list_of(const struct text *texts, size_t count)
{
    JSValue list = JS_NewArray(context);
    for (size_t i = 0; i < count && !JS_IsException(list); i++)
        if (JS_SetPropertyUint32(context, list, (uint32_t)i, JS_NewStringLen(context, texts[i].bytes, texts[i].length)) < 0) {
            JS_FreeValue(context, list);
            list = JS_EXCEPTION;
        }
    return list;
}

static void *give_back(JSRuntime *owner, void *opaque, void *bytes, size_t size)
{
    (void)owner, (void)opaque;
    if (size == 0) {
        memory_free(bytes);
        return NULL;
    }
    return memory_resize(bytes, size);
}

/* run(script, source, args, cwd) → exit code; see the world in wit/. */
__attribute__((export_name("run"))) int32_t run(const char *script, size_t script_length, uint8_t *source, size_t source_length,
                                                 const struct text *args, size_t arg_count, const char *cwd, size_t cwd_length)
{
    uint64_t seed = 0;
    if (__wasi_random_get((uint8_t *)&seed, sizeof seed))
        return 70;
    interpreter_reseed(context, seed);
    JS_UpdateStackTop(runtime);
    JS_SetGCThreshold(runtime, interpreter_heap(runtime) + FIRST_COLLECTION);
    memory_reserve();
    files_begin();

    JSValue arguments[] = {
        JS_NewStringLen(context, script, script_length),
        source_length ? JS_NewUint8Array(context, source, source_length, give_back, NULL, false)
                      : JS_NewUint8ArrayCopy(context, NULL, 0),
        list_of(args, arg_count),
        JS_NewStringLen(context, cwd, cwd_length),
    };
    JSValue code = JS_Call(context, main_function, JS_UNDEFINED, 4, (JSValueConst *)arguments);
    int32_t status = 70;
    if (JS_IsException(code) || JS_ToInt32(context, &status, code))
        die("Uncaught exception", 70);
    return status & 0xFF;
}
