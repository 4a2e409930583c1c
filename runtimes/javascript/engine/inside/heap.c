/* Seeds and sizes. */

/* A context whose seeds do not depend on the clock: two builds make the same snapshot. */
JSContext *interpreter_new(JSRuntime *runtime)
{
    JSContext *ctx = JS_NewContext(runtime);
    if (ctx) {
        ctx->random_state = 1;
        ctx->hash_seed = 1;
        ctx->time_origin = 0;
    }
    return ctx;
}

/* For `Math.random`. The seed of hashes stays: the maps of the snapshot are built on it. */
void interpreter_reseed(JSContext *ctx, uint64_t seed)
{
    ctx->random_state = seed ? seed : 1;
}

bool interpreter_make_last_error(JSContext *ctx)
{
    last_error = JS_NewRangeError(ctx, "Out of memory");
    return !JS_IsException(last_error);
}

size_t interpreter_heap(JSRuntime *runtime)
{
    return runtime->malloc_state.malloc_size;
}

/* At the end of memory garbage is collected in two places. Where an object is made, which is where the interpreter collects
 * anyway: once the memory could not be enlarged by as much as usual. And where something large is asked for in vain: what
 * the interpreter is about to enlarge then is whole. Not for small things: an object may be half made. */
enum { LARGE = 1 << 16, WORTH_IT = 1 << 18 };
static size_t after_collection;

static bool collect_in_need(JSRuntime *runtime)
{
    memory_is_short = false;
    /* With little more than the last one left, a collection would take time for nothing. */
    if (runtime->malloc_state.malloc_size < after_collection + WORTH_IT)
        return false;
    JS_RunGC(runtime);
    after_collection = runtime->malloc_state.malloc_size;
    return true;
}

static bool collect_for(JSRuntime *runtime, size_t size)
{
    if (size < LARGE || runtime->gc_phase != JS_GC_PHASE_NONE || runtime->in_out_of_memory)
        return false;
    return collect_in_need(runtime);
}

uint8_t *bytes_of(JSContext *ctx, JSValueConst value, size_t *size)
{
    static uint8_t nothing[1];
    if (JS_VALUE_GET_TAG(value) != JS_TAG_OBJECT)
        goto wrong;
    JSObject *object = JS_VALUE_GET_OBJ(value);
    JSArrayBuffer *buffer;
    size_t offset = 0, length;
    if (object->class_id == JS_CLASS_ARRAY_BUFFER || object->class_id == JS_CLASS_SHARED_ARRAY_BUFFER) {
        buffer = object->u.array_buffer;
        length = (size_t)buffer->byte_length;
    } else if (is_typed_array(object->class_id) || object->class_id == JS_CLASS_DATAVIEW) {
        JSTypedArray *view = object->u.typed_array;
        buffer = view->buffer->u.array_buffer;
        offset = view->offset;
        if (offset > (size_t)buffer->byte_length)
            goto wrong;
        length = view->track_rab ? (size_t)buffer->byte_length - offset : view->length;
        if (length > (size_t)buffer->byte_length - offset)
            goto wrong;
    } else {
        goto wrong;
    }
    *size = length;
    return buffer->data ? buffer->data + offset : nothing;
wrong:
    JS_ThrowTypeError(ctx, "not a buffer, or one that was cut");
    return NULL;
}
