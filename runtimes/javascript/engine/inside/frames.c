/* Frames of the stack: where they are, and the lines that V8 prints for them. */

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
