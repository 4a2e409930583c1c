/* The engine's exports: `compile` and `prepare` compile and evaluate the Node layer, once, when the snapshot is made;
 * `run` runs a script, once, in a copy of that snapshot; `cabi_realloc` gives the host memory for arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/api.h>

#include "engine.h"

/* The linear memory's stack has 8 MiB (see the link step); C code below the last check needs some of it. */
enum { STACK_SIZE = 7 << 20 };
/* Garbage is collected when the heap has grown by this much: marking touches every object of the snapshot. */
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
        { text_functions, text_function_count },
        { system_functions, system_function_count },
        { module_functions, module_function_count },
        { transpile_functions, transpile_function_count },
        { hash_functions, hash_function_count },
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
    char *text = malloc(capacity);
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
            text = realloc(text, capacity *= 2);
    }
    text[*length] = 0;
    return text;
}

static void make_interpreter(void)
{
    runtime = JS_NewRuntime();
    if (!runtime)
        die("no memory for the interpreter", 70);
    JS_SetMaxStackSize(runtime, STACK_SIZE);
    modules_init(runtime);
    context = interpreter_new(runtime);
    if (!context)
        die("no memory for the interpreter", 70);
}

/* Compiles the Node layer, an expression that gives a function, from stdin to stdout. The text is left out: a function of
 * the layer that a script prints then shows `[native code]`, and the snapshot is smaller. This is a step of its own, in an
 * instance of its own, because the compiler leaves the heap full of holes. */
__attribute__((export_name("compile"))) void compile(void)
{
    make_interpreter();
    size_t length, size;
    char *text = read_input(&length);
    JSValue code = JS_Eval(context, text, length, "node:internal", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
    if (JS_IsException(code))
        die("the Node layer cannot be compiled", 65);
    uint8_t *compiled = JS_WriteObject(context, &size, code, JS_WRITE_OBJ_BYTECODE | JS_WRITE_OBJ_STRIP_SOURCE);
    if (!compiled)
        die("the Node layer cannot be written", 70);
    for (size_t done = 0; done < size;) {
        ssize_t count = write(1, compiled + done, size - done);
        if (count <= 0)
            die("the Node layer cannot be written", 74);
        done += (size_t)count;
    }
}

static JSValue load_layer(void)
{
    size_t length;
    char *compiled = read_input(&length);
    JSValue code = JS_ReadObject(context, (const uint8_t *)compiled, length, JS_READ_OBJ_BYTECODE);
    free(compiled);
    return JS_IsException(code) ? code : JS_EvalFunction(context, code);
}

__attribute__((export_name("prepare"))) void initialize(void)
{
    make_interpreter();
    main_function = JS_UNDEFINED;

    JSValue layer = load_layer();
    JSValue binding = JS_IsException(layer) ? JS_EXCEPTION : make_binding(context);
    JSValue done = JS_IsException(binding) ? JS_EXCEPTION
                                           : JS_Call(context, layer, JS_UNDEFINED, 1, (JSValueConst *)&binding);
    if (JS_IsException(done))
        die("the Node layer failed", 70);
    JS_FreeValue(context, done);
    JS_FreeValue(context, binding);
    JS_FreeValue(context, layer);
    JS_RunGC(runtime);
}

struct text {
    const char *bytes;
    size_t length;
};

__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size)
{
    (void)old_size;
    if (size == 0)
        return (void *)align;
    void *memory = realloc(old, size);
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
        free(bytes);
        return NULL;
    }
    return realloc(bytes, size);
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
        die("the Node layer failed", 70);
    return status & 0xFF;
}
