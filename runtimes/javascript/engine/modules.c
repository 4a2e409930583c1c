/* Code: compiling scripts and CommonJS bodies, ES modules through the loader in the Node layer, jobs. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* What the Node layer is asked, set once when the snapshot is made. */
static JSValue resolve_hook, load_hook, meta_hook, syntax_hook, rejection_hook;

static BINDING(module_set_hooks)
{
    JSValue *hooks[] = { &resolve_hook, &load_hook, &meta_hook, &syntax_hook, &rejection_hook };
    for (int i = 0; i < 5; i++) {
        JS_FreeValue(ctx, *hooks[i]);
        *hooks[i] = JS_DupValue(ctx, argv[i]);
    }
    return JS_UNDEFINED;
}

/* compileFunction(source, file, parameters): a function whose body is `source`, its first line being line 1 (the
 * interpreter takes line 0 for unset, so counting starts two lines before). stack.c knows the name. */
static BINDING(module_compile_function)
{
    static const char NAME[] = "({'<module body>': function (";
    static const char BODY[] = ") {\n\n";
    static const char END[] = "\n}})['<module body>']";
    size_t source_length, parameters_length;
    JSValue function = JS_EXCEPTION;
    const char *file = NULL, *parameters = NULL;
    const char *source = JS_ToCStringLen(ctx, &source_length, argv[0]);
    if (source)
        file = JS_ToCString(ctx, argv[1]);
    if (file)
        parameters = JS_ToCStringLen(ctx, &parameters_length, argv[2]);
    if (!parameters)
        goto end;
    size_t size = sizeof NAME + parameters_length + sizeof BODY + source_length + sizeof END;
    char *text = js_malloc(ctx, size);
    if (!text)
        goto end;
    char *out = text;
    const struct { const char *text; size_t length; } parts[] = {
        { NAME, sizeof NAME - 1 }, { parameters, parameters_length }, { BODY, sizeof BODY - 1 },
        { source, source_length }, { END, sizeof END - 1 },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(out, parts[i].text, parts[i].length);
        out += parts[i].length;
    }
    *out = 0;
    JS_FreeCString(ctx, source);
    source = NULL;
    JSEvalOptions options = { .version = JS_EVAL_OPTIONS_VERSION, .eval_flags = JS_EVAL_TYPE_GLOBAL, .filename = file, .line_num = -1 };
    function = JS_Eval2(ctx, text, (size_t)(out - text), &options);
    js_free(ctx, text);
end:
    JS_FreeCString(ctx, source);
    JS_FreeCString(ctx, file);
    JS_FreeCString(ctx, parameters);
    return function;
}

/* runScript(source, file, line): what the last statement of a classic script gives. */
static BINDING(module_run_script)
{
    size_t length;
    int32_t line;
    if (JS_ToInt32(ctx, &line, argv[2]))
        return JS_EXCEPTION;
    JSValue result = JS_EXCEPTION;
    const char *source = JS_ToCStringLen(ctx, &length, argv[0]);
    const char *file = source ? JS_ToCString(ctx, argv[1]) : NULL;
    if (file) {
        JSEvalOptions options = { .version = JS_EVAL_OPTIONS_VERSION, .eval_flags = JS_EVAL_TYPE_GLOBAL, .filename = file, .line_num = line };
        result = JS_Eval2(ctx, source, length, &options);
    }
    JS_FreeCString(ctx, source);
    JS_FreeCString(ctx, file);
    return result;
}

/* checkScript(source, file), checkModule(source, file): throws the SyntaxError, if any, and runs nothing. */
static JSValue check(JSContext *ctx, JSValueConst *argv, int type)
{
    size_t length;
    JSValue result = JS_EXCEPTION;
    const char *source = JS_ToCStringLen(ctx, &length, argv[0]);
    const char *file = source ? JS_ToCString(ctx, argv[1]) : NULL;
    if (file)
        result = JS_Eval(ctx, source, length, file, type | JS_EVAL_FLAG_COMPILE_ONLY);
    JS_FreeCString(ctx, source);
    JS_FreeCString(ctx, file);
    if (JS_IsException(result))
        return result;
    JS_FreeValue(ctx, result);
    return JS_UNDEFINED;
}

static BINDING(module_check_script) { return check(ctx, argv, JS_EVAL_TYPE_GLOBAL); }

static char *resolve(JSContext *ctx, const char *base, const char *specifier, JSValueConst attributes, void *opaque)
{
    (void)opaque;
    JSValue arguments[] = { JS_NewString(ctx, specifier), JS_NewString(ctx, base), JS_DupValue(ctx, attributes) };
    JSValue name = JS_Call(ctx, resolve_hook, JS_UNDEFINED, 3, (JSValueConst *)arguments);
    for (int i = 0; i < 3; i++)
        JS_FreeValue(ctx, arguments[i]);
    if (JS_IsException(name))
        return NULL;
    const char *text = JS_ToCString(ctx, name);
    JS_FreeValue(ctx, name);
    char *copy = text ? js_strdup(ctx, text) : NULL;
    JS_FreeCString(ctx, text);
    return copy;
}

/* Evaluates a module that is no ES module: its private value is a function that answers [name, value, name, value, …]. */
static int evaluate_made(JSContext *ctx, JSModuleDef *module)
{
    JSValue evaluate = JS_GetModulePrivateValue(ctx, module);
    JSValue list = JS_Call(ctx, evaluate, JS_UNDEFINED, 0, NULL);
    JS_FreeValue(ctx, evaluate);
    if (JS_IsException(list))
        return -1;
    int64_t length;
    int result = JS_GetLength(ctx, list, &length);
    for (int64_t i = 0; result == 0 && i + 1 < length; i += 2) {
        JSValue name = JS_GetPropertyInt64(ctx, list, i);
        const char *text = JS_ToCString(ctx, name);
        JS_FreeValue(ctx, name);
        JSValue value = text ? JS_GetPropertyInt64(ctx, list, i + 1) : JS_EXCEPTION;
        if (JS_IsException(value) || JS_SetModuleExport(ctx, module, text, value) < 0)
            result = -1;
        JS_FreeCString(ctx, text);
    }
    JS_FreeValue(ctx, list);
    return result;
}

/* The module that the loader made: a list [names of the exports, function for their values]. */
static JSModuleDef *make(JSContext *ctx, const char *name, JSValueConst made)
{
    JSModuleDef *module = JS_NewCModule(ctx, name, evaluate_made);
    if (!module)
        return NULL;
    JSValue names = JS_GetPropertyUint32(ctx, made, 0);
    int64_t length;
    int result = JS_IsException(names) ? -1 : JS_GetLength(ctx, names, &length);
    for (int64_t i = 0; result == 0 && i < length; i++) {
        JSValue export = JS_GetPropertyInt64(ctx, names, i);
        const char *text = JS_ToCString(ctx, export);
        JS_FreeValue(ctx, export);
        result = text ? JS_AddModuleExport(ctx, module, text) : -1;
        JS_FreeCString(ctx, text);
    }
    JS_FreeValue(ctx, names);
    if (result < 0)
        return NULL;
    JSValue evaluate = JS_GetPropertyUint32(ctx, made, 1);
    if (JS_IsException(evaluate))
        return NULL;
    JS_SetModulePrivateValue(ctx, module, evaluate);
    return module;
}

int module_made(JSContext *ctx, JSModuleDef *module)
{
    JSAtom name = JS_GetModuleName(ctx, module);
    JSValue arguments[] = { JS_GetImportMeta(ctx, module), JS_AtomToString(ctx, name) };
    JSValue done = JS_Call(ctx, meta_hook, JS_UNDEFINED, 2, (JSValueConst *)arguments);
    JS_FreeAtom(ctx, name);
    JS_FreeValue(ctx, arguments[0]);
    JS_FreeValue(ctx, arguments[1]);
    JS_FreeValue(ctx, done);
    return JS_IsException(done) ? -1 : 0;
}

static JSModuleDef *compile(JSContext *ctx, const char *name, JSValueConst source)
{
    size_t length;
    const char *text = JS_ToCStringLen(ctx, &length, source);
    if (!text)
        return NULL;
    JSValue module = JS_Eval(ctx, text, length, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
    JS_FreeCString(ctx, text);
    if (JS_IsException(module)) {
        JSValue arguments[] = { JS_GetException(ctx), JS_NewString(ctx, name) };
        JSValue error = JS_Call(ctx, syntax_hook, JS_UNDEFINED, 2, (JSValueConst *)arguments);
        JS_FreeValue(ctx, arguments[0]);
        JS_FreeValue(ctx, arguments[1]);
        if (!JS_IsException(error))
            JS_Throw(ctx, error);
        return NULL;
    }
    JSModuleDef *definition = JS_VALUE_GET_PTR(module);
    JS_FreeValue(ctx, module);
    return definition;
}

static JSModuleDef *load(JSContext *ctx, const char *name, void *opaque, JSValueConst attributes)
{
    (void)opaque;
    JSValue arguments[] = { JS_NewString(ctx, name), JS_DupValue(ctx, attributes) };
    JSValue loaded = JS_Call(ctx, load_hook, JS_UNDEFINED, 2, (JSValueConst *)arguments);
    JS_FreeValue(ctx, arguments[0]);
    JS_FreeValue(ctx, arguments[1]);
    if (JS_IsException(loaded))
        return NULL;
    JSModuleDef *module = JS_IsString(loaded) ? compile(ctx, name, loaded) : make(ctx, name, loaded);
    JS_FreeValue(ctx, loaded);
    return module;
}

static JSValue tell_rejection(JSContext *ctx, int argc, JSValueConst *argv)
{
    return JS_Call(ctx, rejection_hook, JS_UNDEFINED, argc, argv);
}

/* Where the stack or the memory does not suffice, a job tells it later: no rejection is lost. */
static void rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool handled, void *opaque)
{
    (void)opaque;
    if (!JS_IsFunction(ctx, rejection_hook))
        return;
    JSValueConst arguments[] = { promise, reason, handled ? JS_TRUE : JS_FALSE };
    JSValue done = tell_rejection(ctx, 3, arguments);
    if (JS_IsException(done)) {
        JS_FreeValue(ctx, JS_GetException(ctx));
        JS_EnqueueJob(ctx, tell_rejection, 3, arguments);
    }
    JS_FreeValue(ctx, done);
}

/* Runs every job there is, and those that they add. */
static BINDING(module_run_jobs)
{
    JSContext *where;
    int result;
    while ((result = JS_ExecutePendingJob(JS_GetRuntime(ctx), &where)) > 0)
        ;
    return result < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

static JSValue call_first(JSContext *ctx, int argc, JSValueConst *argv)
{
    (void)argc;
    return JS_Call(ctx, argv[0], JS_UNDEFINED, 0, NULL);
}

static BINDING(module_enqueue_microtask)
{
    if (JS_EnqueueJob(ctx, call_first, 1, argv) < 0)
        return JS_EXCEPTION;
    return JS_UNDEFINED;
}

void modules_init(JSRuntime *runtime)
{
    resolve_hook = load_hook = meta_hook = syntax_hook = rejection_hook = JS_UNDEFINED;
    JS_SetModuleLoaderFunc2(runtime, NULL, load, NULL, NULL);
    JS_SetModuleNormalizeFunc2(runtime, resolve);
    JS_SetHostPromiseRejectionTracker(runtime, rejection, NULL);
}

const JSCFunctionListEntry module_functions[] = {
    JS_CFUNC_DEF("setHooks", 5, module_set_hooks),
    JS_CFUNC_DEF("compileFunction", 3, module_compile_function),
    JS_CFUNC_DEF("runScript", 3, module_run_script),
    JS_CFUNC_DEF("checkScript", 2, module_check_script),
    JS_CFUNC_DEF("runJobs", 0, module_run_jobs),
    JS_CFUNC_DEF("enqueueMicrotask", 1, module_enqueue_microtask),
};
const int module_function_count = sizeof module_functions / sizeof *module_functions;
