/* Stack traces as Node prints them: the header, then frames of scripts alone. The interpreter calls `stack_capture`
 * for each error it makes: it is installed as its hook for stack traces, with one frame asked for, and that one says
 * where to begin. The frames are written down at once, the header when `stack` is first read: an error gets its
 * name after it was made. */

enum { FRAMES_MAX = 200 };

/* Where a frame is; false if it is none of a script's. */
static bool frame_place(JSContext *ctx, JSStackFrame *frame, const char **file, int *line, int *column)
{
    if (JS_VALUE_GET_TAG(frame->cur_func) != JS_TAG_OBJECT)
        return false;
    JSObject *function = JS_VALUE_GET_OBJ(frame->cur_func);
    if (!js_class_has_bytecode(function->class_id))
        return false;
    JSFunctionBytecode *code = function->u.func.function_bytecode;
    if (!code->filename || !frame->cur_pc)
        return false;
    *file = JS_AtomToCString(ctx, code->filename);
    if (!*file)
        return false;
    if (!strncmp(*file, "node:", 5)) {
        JS_FreeCString(ctx, *file);
        return false;
    }
    *line = find_line_num(ctx, code, (uint32_t)(frame->cur_pc - code->byte_code_buf - 1), column);
    original_position(*file, line, column);
    return true;
}

/* An own or inherited property that is plain data; undefined otherwise. Runs no code of a script. */
static JSValueConst data_property(JSValueConst object, JSAtom atom)
{
    JSObject *holder = JS_VALUE_GET_TAG(object) == JS_TAG_OBJECT ? JS_VALUE_GET_OBJ(object) : NULL;
    for (int depth = 0; holder && depth < 1000; depth++) {
        JSProperty *property;
        JSShapeProperty *shape;
        if (holder->is_exotic && holder->class_id == JS_CLASS_PROXY)
            break;
        shape = find_own_property(&property, holder, atom);
        if (shape)
            return (shape->flags & JS_PROP_TMASK) == JS_PROP_NORMAL ? property->u.value : JS_UNDEFINED;
        holder = holder->shape->proto;
    }
    return JS_UNDEFINED;
}

/* What V8 calls the type of a receiver; NULL if a call on it is a plain call. */
static const char *receiver_name(JSContext *ctx, JSValueConst receiver)
{
    switch (JS_VALUE_GET_NORM_TAG(receiver)) {
    case JS_TAG_STRING:
    case JS_TAG_STRING_ROPE:
        return JS_AtomToCString(ctx, JS_ATOM_String);
    case JS_TAG_OBJECT:
        break;
    default:
        return NULL;
    }
    JSObject *object = JS_VALUE_GET_OBJ(receiver);
    if (object == JS_VALUE_GET_OBJ(ctx->global_obj))
        return NULL;
    if (JS_IsFunction(ctx, receiver)) {
        const char *name = get_func_name(ctx, receiver);
        if (name && *name)
            return name;
        JS_FreeCString(ctx, name);
        return JS_AtomToCString(ctx, JS_ATOM_Function);
    }
    const char *name = get_func_name(ctx, data_property(receiver, JS_ATOM_constructor));
    if (name && *name)
        return name;
    JS_FreeCString(ctx, name);
    return JS_AtomToCString(ctx, JS_ATOM_Object);
}

/* The name under which a receiver, or what it inherits from, holds the function; NULL if it does not. */
static const char *method_name(JSContext *ctx, JSValueConst receiver, JSValueConst function)
{
    JSObject *holder = JS_VALUE_GET_TAG(receiver) == JS_TAG_OBJECT ? JS_VALUE_GET_OBJ(receiver) : NULL;
    for (int depth = 0; holder && depth < 100; depth++, holder = holder->shape->proto) {
        JSShape *shape = holder->shape;
        if (shape->prop_count > 1000 || holder->class_id == JS_CLASS_PROXY)
            return NULL;
        JSShapeProperty *property = get_shape_prop(shape);
        for (int i = 0; i < shape->prop_count; i++, property++) {
            if (property->atom == JS_ATOM_NULL || (property->flags & JS_PROP_TMASK) != JS_PROP_NORMAL)
                continue;
            JSValue value = holder->prop[i].u.value;
            if (JS_VALUE_GET_TAG(value) == JS_TAG_OBJECT && JS_VALUE_GET_OBJ(value) == JS_VALUE_GET_OBJ(function))
                return JS_AtomToCString(ctx, property->atom);
        }
    }
    return NULL;
}

/* `fn`, `new Fn`, `Type.fn`, `Type.fn [as method]`, `Type.<anonymous>`; nothing for a plain call of a nameless one. */
static void put_function(JSContext *ctx, DynBuf *out, JSStackFrame *frame, const char *name)
{
    /* The body of a CommonJS module runs in a function with this name; see modules.c. */
    if (name && !strcmp(name, "<module body>")) {
        dbuf_putstr(out, "Object.<anonymous>");
        return;
    }
    bool nameless = !name || !*name || *name == '<';
    if (frame->is_constructor) {
        dbuf_printf(out, "new %s", nameless ? "<anonymous>" : name);
        return;
    }
    const char *type = receiver_name(ctx, frame->receiver);
    if (!type) {
        if (!nameless)
            dbuf_putstr(out, name);
        return;
    }
    const char *method = method_name(ctx, frame->receiver, frame->cur_func);
    size_t length = strlen(type);
    if (nameless)
        dbuf_printf(out, "%s.%s", type, method ? method : "<anonymous>");
    else {
        if (strncmp(name, type, length))
            dbuf_printf(out, "%s.", type);
        dbuf_putstr(out, name);
        /* A getter's name says what it is; a dotted name, what it belongs to. */
        if (method && strcmp(name, method) && !strchr(name, ' '))
            dbuf_printf(out, " [as %s]", method);
    }
    JS_FreeCString(ctx, method);
    JS_FreeCString(ctx, type);
}

/* A function of the language is shown if a script called it; those that only pass on a call are not, as in V8. */
static bool called_by_script(JSContext *ctx, JSStackFrame *frame)
{
    JSCFunctionType code = JS_VALUE_GET_OBJ(frame->cur_func)->u.cfunc.c_function;
    if (JS_VALUE_GET_OBJ(frame->cur_func)->class_id != JS_CLASS_C_FUNCTION || code.generic == js_function_call ||
        code.generic_magic == js_function_apply || !frame->prev_frame)
        return false;
    const char *file;
    int line, column;
    if (!frame_place(ctx, frame->prev_frame, &file, &line, &column))
        return false;
    JS_FreeCString(ctx, file);
    return true;
}

static bool is_native(JSStackFrame *frame)
{
    return JS_VALUE_GET_TAG(frame->cur_func) == JS_TAG_OBJECT &&
           !js_class_has_bytecode(JS_VALUE_GET_OBJ(frame->cur_func)->class_id);
}

/* One line of a trace for a frame; nothing for a frame of ours. True if there is one. */
static bool put_frame(JSContext *ctx, DynBuf *out, JSStackFrame *frame)
{
    const char *file;
    int line, column;
    const char *name = get_func_name(ctx, frame->cur_func);
    bool shown = frame_place(ctx, frame, &file, &line, &column);
    if (shown) {
        dbuf_putstr(out, "\n    at ");
        size_t before = out->size;
        put_function(ctx, out, frame, name);
        if (out->size > before)
            dbuf_printf(out, " (%s:%d:%d)", file, line, column);
        else
            dbuf_printf(out, "%s:%d:%d", file, line, column);
        JS_FreeCString(ctx, file);
    } else if (is_native(frame) && name && *name && called_by_script(ctx, frame)) {
        dbuf_putstr(out, "\n    at ");
        put_function(ctx, out, frame, name);
        dbuf_putstr(out, " (<anonymous>)");
        shown = true;
    }
    JS_FreeCString(ctx, name);
    return shown;
}

/* The function that awaits what this async function will give: the frame it is suspended in, or NULL. */
static JSStackFrame *awaiting(JSStackFrame *frame)
{
    if (!frame->cur_gc_obj || JS_GC_TYPE(frame->cur_gc_obj) != JS_GC_OBJ_TYPE_ASYNC_FUNCTION)
        return NULL;
    JSAsyncFunctionData *function = (JSAsyncFunctionData *)frame->cur_gc_obj;
    JSValue resolve = function->resolving_funcs[0];
    if (JS_VALUE_GET_TAG(resolve) != JS_TAG_OBJECT || JS_VALUE_GET_OBJ(resolve)->class_id != JS_CLASS_PROMISE_RESOLVE_FUNCTION)
        return NULL;
    JSPromiseData *promise = JS_GetOpaque(JS_VALUE_GET_OBJ(resolve)->u.promise_function_data->promise, JS_CLASS_PROMISE);
    if (!promise || list_empty(&promise->promise_reactions[0]))
        return NULL;
    JSPromiseReactionData *reaction = list_entry(promise->promise_reactions[0].next, JSPromiseReactionData, link);
    if (JS_VALUE_GET_TAG(reaction->handler) != JS_TAG_OBJECT)
        return NULL;
    JSObject *handler = JS_VALUE_GET_OBJ(reaction->handler);
    if (handler->class_id != JS_CLASS_ASYNC_FUNCTION_RESOLVE || !handler->u.async_function_data->is_active)
        return NULL;
    return &handler->u.async_function_data->func_state.frame;
}

/* The lines for the functions that wait for the last frame; `count` of `limit` lines are there. */
static void put_awaiting(JSContext *ctx, DynBuf *out, JSStackFrame *frame, int count, int limit)
{
    for (frame = awaiting(frame); frame && count < limit; frame = awaiting(frame), count++) {
        const char *file;
        int line, column;
        if (!frame_place(ctx, frame, &file, &line, &column))
            return;
        const char *name = get_func_name(ctx, frame->cur_func);
        if (name && *name && *name != '<')
            dbuf_printf(out, "\n    at async %s (%s:%d:%d)", name, file, line, column);
        else
            dbuf_printf(out, "\n    at async %s:%d:%d", file, line, column);
        JS_FreeCString(ctx, name);
        JS_FreeCString(ctx, file);
    }
}

/* A property as text; NULL if it is undefined or cannot be had. No exception is left. */
static const char *text_property(JSContext *ctx, JSValueConst object, JSAtom atom)
{
    JSValue value = JS_GetProperty(ctx, object, atom);
    const char *text = JS_IsException(value) || JS_IsUndefined(value) ? NULL : JS_ToCString(ctx, value);
    JS_FreeValue(ctx, value);
    if (!text)
        JS_FreeValue(ctx, JS_GetException(ctx));
    return text;
}

static void put_header(JSContext *ctx, DynBuf *out, JSValueConst error)
{
    const char *name = text_property(ctx, error, JS_ATOM_name);
    const char *message = text_property(ctx, error, JS_ATOM_message);
    dbuf_putstr(out, name ? name : "Error");
    if (message && *message)
        dbuf_printf(out, "%s%s", name && !*name ? "" : ": ", message);
    JS_FreeCString(ctx, name);
    JS_FreeCString(ctx, message);
}

/* The frame to begin with: that of the function in the one call site we are given. */
static JSStackFrame *first_frame(JSContext *ctx, JSValueConst sites, JSCallSiteData **place)
{
    JSStackFrame *frame = ctx->rt->current_stack_frame;
    JSValue site = JS_GetPropertyUint32(ctx, sites, 0);
    *place = JS_IsException(site) ? NULL : JS_GetOpaque(site, JS_CLASS_CALL_SITE);
    if (*place && JS_VALUE_GET_TAG((*place)->func) == JS_TAG_OBJECT) {
        JSObject *function = JS_VALUE_GET_OBJ((*place)->func);
        while (frame && JS_VALUE_GET_PTR(frame->cur_func) != (void *)function)
            frame = frame->prev_frame;
        *place = NULL;
    } else if (frame) {
        frame = frame->prev_frame;
    }
    /* The list keeps the site. */
    JS_FreeValue(ctx, site);
    return frame;
}

static int frame_limit(JSContext *ctx)
{
    JSValue value = JS_GetPropertyStr(ctx, ctx->error_ctor, "stackTraceLimit");
    double limit = 0;
    if (!JS_IsNumber(value) || JS_ToFloat64(ctx, &limit, value))
        limit = 0;
    JS_FreeValue(ctx, value);
    return limit > FRAMES_MAX ? FRAMES_MAX : limit > 0 ? (int)limit : 0;
}

/* The call sites of scripts' frames, for a script's own `Error.prepareStackTrace`. */
static JSValue call_sites(JSContext *ctx, JSStackFrame *frame, int limit)
{
    JSValue list = JS_NewArray(ctx);
    uint32_t count = 0;
    for (; frame && (int)count < limit && !JS_IsException(list); frame = frame->prev_frame) {
        const char *file;
        int line, column;
        if (!frame_place(ctx, frame, &file, &line, &column))
            continue;
        JS_FreeCString(ctx, file);
        JSCallSiteData data;
        js_new_callsite_data(ctx, &data, frame);
        data.line_num = line;
        data.col_num = column;
        JSValue site = js_new_callsite(ctx, &data);
        if (JS_IsException(site) || JS_SetPropertyUint32(ctx, list, count++, site) < 0) {
            JS_FreeValue(ctx, list);
            list = JS_EXCEPTION;
        }
    }
    return list;
}

/* What `stack_capture` leaves in an error begins with this, until it is read. */
static const char UNREAD = '\0';

static JSValue stack_getter, stack_setter;

/* The header, then the frames that follow. */
static JSValue with_header(JSContext *ctx, JSValueConst error, const char *frames, size_t length)
{
    DynBuf out;
    js_dbuf_init(ctx, &out);
    put_header(ctx, &out, error);
    dbuf_put(&out, frames, length);
    JSValue stack = dbuf_error(&out) ? JS_NULL : JS_NewStringLen(ctx, (char *)out.buf, out.size);
    dbuf_free(&out);
    return stack;
}

static JSObject *error_of(JSValueConst value)
{
    if (JS_VALUE_GET_TAG(value) != JS_TAG_OBJECT || JS_VALUE_GET_OBJ(value)->class_id != JS_CLASS_ERROR)
        return NULL;
    return JS_VALUE_GET_OBJ(value);
}

static BINDING(stack_get)
{
    JSObject *error = error_of(this_val);
    if (!error)
        return JS_UNDEFINED;
    JSValue kept = error->u.object_data;
    if (!JS_IsString(kept))
        return js_dup(kept);
    size_t length;
    const char *text = JS_ToCStringLen(ctx, &length, kept);
    if (!text)
        return JS_EXCEPTION;
    if (length && *text == UNREAD) {
        JSValue stack = with_header(ctx, this_val, text + 1, length - 1);
        JS_FreeValue(ctx, error->u.object_data);
        error->u.object_data = stack;
    }
    JS_FreeCString(ctx, text);
    return js_dup(error->u.object_data);
}

static BINDING(stack_set)
{
    JSObject *error = error_of(this_val);
    if (error) {
        JS_FreeValue(ctx, error->u.object_data);
        error->u.object_data = js_dup(argv[0]);
    }
    return JS_UNDEFINED;
}

/* Where the last exception was thrown: what a script sees above an uncaught error. The value tells whether the
 * exception is the one in question; it is compared and never looked into, since nothing keeps it alive. */
static struct {
    JSValue value;
    JSAtom file;
    int line, column;
} thrown;

static void note_throw(JSContext *ctx, JSValueConst value, JSStackFrame *frame)
{
    const char *file;
    int line, column;
    while (frame && is_native(frame))
        frame = frame->prev_frame;
    bool known = frame && frame_place(ctx, frame, &file, &line, &column);
    /* The layer passes an exception on: it was thrown where it was thrown. */
    if (!known && !memcmp(&thrown.value, &value, sizeof value))
        return;
    JS_FreeAtom(ctx, thrown.file);
    thrown.value = unsafe_unconst(value);
    thrown.file = JS_ATOM_NULL;
    if (known) {
        thrown.file = JS_NewAtom(ctx, file);
        thrown.line = line;
        thrown.column = column;
        JS_FreeCString(ctx, file);
    }
}

/* The interpreter asks for the place of a throw once per exception; one that C code took instead of a `catch`
 * would be the last. */
static void forget_throw(JSContext *ctx)
{
    JS_FreeValue(ctx, ctx->error_back_trace);
    ctx->error_back_trace = JS_UNDEFINED;
}

static BINDING(stack_forget_throw)
{
    forget_throw(ctx);
    return JS_UNDEFINED;
}

/* thrownAt(value) → [file, line, column] if the value is the last that was thrown, and a script threw it. */
static BINDING(stack_thrown_at)
{
    if (memcmp(&thrown.value, &argv[0], sizeof thrown.value) || thrown.file == JS_ATOM_NULL)
        return JS_UNDEFINED;
    JSValue place[] = { JS_AtomToString(ctx, thrown.file), js_int32(thrown.line), js_int32(thrown.column) };
    return JS_NewArrayFrom(ctx, 3, place);
}

/* Who makes the interpreter take a trace. */
enum asker { CONSTRUCTOR, SCRIPT, THROW };

static enum asker asker_of(JSContext *ctx)
{
    JSStackFrame *frame = ctx->rt->current_stack_frame;
    frame = frame ? frame->prev_frame : NULL;
    if (!frame || JS_VALUE_GET_TAG(frame->cur_func) != JS_TAG_OBJECT)
        return THROW;
    JSObject *function = JS_VALUE_GET_OBJ(frame->cur_func);
    if (function->class_id != JS_CLASS_C_FUNCTION)
        return THROW;
    JSCFunctionType code = function->u.cfunc.c_function;
    return code.generic == js_error_capture_stack_trace        ? SCRIPT
           : code.constructor_magic == js_error_constructor ? CONSTRUCTOR
                                                            : THROW;
}

/* What the error keeps, or what `Error.captureStackTrace` makes a property. */
static JSValue trace_of(JSContext *ctx, JSValueConst error, JSStackFrame *frame, JSCallSiteData *place, bool read)
{
    int limit = frame_limit(ctx);
    JSValue prepare = JS_GetPropertyStr(ctx, ctx->error_ctor, "prepareStackTrace");
    if (JS_IsFunction(ctx, prepare)) {
        JSValue sites = call_sites(ctx, frame, limit);
        JSValue stack = JS_EXCEPTION;
        if (!JS_IsException(sites)) {
            JSValueConst arguments[] = { error, sites };
            stack = JS_Call(ctx, prepare, ctx->error_ctor, 2, arguments);
        }
        JS_FreeValue(ctx, sites);
        JS_FreeValue(ctx, prepare);
        return stack;
    }
    JS_FreeValue(ctx, prepare);

    DynBuf out;
    js_dbuf_init(ctx, &out);
    int count = 0;
    dbuf_putc(&out, UNREAD);
    if (place && count < limit) {
        /* Code that does not parse: it has a place and no frame. */
        const char *file = JS_ToCString(ctx, place->filename);
        if (file && strncmp(file, "node:", 5) && strcmp(file, "<input>")) {
            int line = place->line_num, column = place->col_num;
            original_position(file, &line, &column);
            dbuf_printf(&out, "\n    at %s:%d:%d", file, line, column);
            count++;
        }
        JS_FreeCString(ctx, file);
    }
    JSStackFrame *last = NULL;
    for (; frame && count < limit; frame = frame->prev_frame) {
        bool shown = put_frame(ctx, &out, frame);
        count += shown;
        if (shown && !is_native(frame))
            last = frame;
    }
    if (last)
        put_awaiting(ctx, &out, last, count, limit);
    JSValue stack = dbuf_error(&out) ? JS_NULL
                    : read           ? with_header(ctx, error, (char *)out.buf + 1, out.size - 1)
                                     : JS_NewStringLen(ctx, (char *)out.buf, out.size);
    dbuf_free(&out);
    return stack;
}

/* The frames of the classes that an error's own class is derived from, up to its own, are no news. */
static JSStackFrame *above_constructors(JSStackFrame *frame)
{
    while (frame && frame->is_constructor && JS_VALUE_GET_TAG(frame->cur_func) == JS_TAG_OBJECT) {
        JSObject *function = JS_VALUE_GET_OBJ(frame->cur_func);
        if (!js_class_has_bytecode(function->class_id) || !function->u.func.function_bytecode->is_derived_class_constructor)
            break;
        frame = frame->prev_frame;
    }
    return frame;
}

/* Set when the snapshot is made: (name, message, file, line, column, function, argument) → V8's words for an error of
 * the interpreter's own, or undefined. `function` of the language failed, if one did, with `argument` as its first. */
static JSValue words_hook = JS_UNDEFINED;

static BINDING(stack_set_words)
{
    JS_FreeValue(ctx, words_hook);
    words_hook = js_dup(argv[0]);
    return JS_UNDEFINED;
}

static void reword(JSContext *ctx, JSValueConst error, JSStackFrame *frame, JSCallSiteData *place)
{
    if (!JS_IsFunction(ctx, words_hook))
        return;
    JSValueConst argument = JS_UNDEFINED;
    const char *function = NULL;
    if (frame && is_native(frame)) {
        function = get_func_name(ctx, frame->cur_func);
        if (frame->arg_count > 0)
            argument = frame->arg_buf[0];
    }
    while (frame && is_native(frame))
        frame = frame->prev_frame;
    const char *file = NULL;
    int line = 0, column = 0;
    if (place) {
        file = JS_ToCString(ctx, place->filename);
        line = place->line_num;
        column = place->col_num;
    } else if (!frame || !frame_place(ctx, frame, &file, &line, &column)) {
        file = NULL;
    }
    JSValue arguments[] = {
        JS_GetProperty(ctx, error, JS_ATOM_name), JS_GetProperty(ctx, error, JS_ATOM_message),
        file ? JS_NewString(ctx, file) : JS_UNDEFINED, js_int32(line), js_int32(column),
        function ? JS_NewString(ctx, function) : JS_UNDEFINED, js_dup(argument),
    };
    JSValue words = JS_Call(ctx, words_hook, JS_UNDEFINED, countof(arguments), vc(arguments));
    for (size_t i = 0; i < countof(arguments); i++)
        JS_FreeValue(ctx, arguments[i]);
    JS_FreeCString(ctx, file);
    JS_FreeCString(ctx, function);
    if (JS_IsString(words))
        JS_DefinePropertyValue(ctx, error, JS_ATOM_message, words, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    else if (JS_IsException(words))
        JS_FreeValue(ctx, JS_GetException(ctx));
}

/* The interpreter's hook, (error, sites). An answer other than undefined tells it that the exception has its trace;
 * what is thrown after it was made comes here a second time, for the place of the throw alone. */
static BINDING(stack_capture)
{
    JSCallSiteData *place;
    JSStackFrame *frame = first_frame(ctx, argv[1], &place);
    enum asker asker = asker_of(ctx);
    if (asker == SCRIPT)
        return trace_of(ctx, argv[0], frame, place, true);
    if (asker == CONSTRUCTOR)
        frame = above_constructors(frame);
    JSObject *error = error_of(argv[0]);
    if (error && JS_IsUndefined(error->u.object_data)) {
        JS_DefineProperty(ctx, argv[0], JS_ATOM_stack, JS_UNDEFINED, stack_getter, stack_setter,
                          JS_PROP_HAS_GET | JS_PROP_HAS_SET | JS_PROP_HAS_ENUMERABLE | JS_PROP_HAS_CONFIGURABLE | JS_PROP_CONFIGURABLE);
        if (asker == THROW)
            reword(ctx, argv[0], frame, place);
        JSValue stack = trace_of(ctx, argv[0], frame, place, false);
        if (JS_IsException(stack)) {
            JS_FreeValue(ctx, JS_GetException(ctx));
            stack = JS_NULL;
        }
        error->u.object_data = stack;
    }
    if (asker == CONSTRUCTOR) {
        forget_throw(ctx);
        return JS_UNDEFINED;
    }
    note_throw(ctx, argv[0], frame);
    return JS_NULL;
}

/* Takes over from the interpreter's own traces. What it has as `Error.prepareStackTrace` and `Error.stackTraceLimit`
 * become ordinary properties, as they are in V8; `stack_capture` reads them. */
static BINDING(stack_take_over)
{
    JSValue capture = JS_NewCFunction(ctx, stack_capture, "captureStack", 2);
    stack_getter = JS_NewCFunction(ctx, stack_get, "", 0);
    stack_setter = JS_NewCFunction(ctx, stack_set, "", 1);
    if (JS_IsException(capture) || JS_IsException(stack_getter) || JS_IsException(stack_setter))
        return JS_EXCEPTION;
    JS_FreeValue(ctx, ctx->error_prepare_stack);
    ctx->error_prepare_stack = capture;
    ctx->error_stack_trace_limit = js_int32(1);
    int flags = JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE | JS_PROP_ENUMERABLE;
    JSAtom limit = JS_NewAtom(ctx, "stackTraceLimit"), prepare = JS_NewAtom(ctx, "prepareStackTrace");
    int result = JS_DefinePropertyValue(ctx, ctx->error_ctor, limit, js_int32(10), flags);
    if (result >= 0)
        result = JS_DeleteProperty(ctx, ctx->error_ctor, prepare, 0);
    if (result >= 0)
        result = JS_DeleteProperty(ctx, ctx->class_proto[JS_CLASS_ERROR], JS_ATOM_stack, 0);
    JS_FreeAtom(ctx, limit);
    JS_FreeAtom(ctx, prepare);
    return result < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}
