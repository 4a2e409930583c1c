/* Seeds, sizes, and what becomes of the heap when the snapshot is made. */

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

/* A table that a run enlarges is written anew, and all entries of it with it: leaves enough room for most runs. */
static bool enlarge_tables(JSRuntime *runtime)
{
    while (runtime->atom_count * 2 > runtime->atom_count_resize)
        if (JS_ResizeAtomHash(runtime, runtime->atom_hash_size * 2))
            return false;
    while (runtime->shape_hash_count * 4 > runtime->shape_hash_size)
        if (resize_shape_hash(runtime, runtime->shape_hash_bits + 1))
            return false;
    return true;
}

/* Leaves only numbers for new atoms that lie together, at the end of a table with room for more. */
static bool gather_free_atoms(JSRuntime *runtime)
{
    enum { ROOM = 4096 };
    int size = runtime->atom_size + ROOM;
    JSAtomStruct **atoms = js_realloc_rt(runtime, runtime->atom_array, sizeof *atoms * size);
    if (!atoms)
        return false;
    for (int at = runtime->atom_size; at < size; at++)
        atoms[at] = atom_set_free(at + 1 < size ? at + 1 : 0);
    runtime->atom_free_index = runtime->atom_size;
    runtime->atom_array = atoms;
    runtime->atom_size = size;
    return true;
}

/* From here on, nothing that exists is ever freed: references to it are not counted, since counting writes to the page that
 * it is in (see quickjs.patch), and the collector does not look at it. What a script makes is still collected: a reference from
 * the snapshot counts as one from outside. Objects of a script get memory of their own, not what is free beside others. */
bool interpreter_keep(JSRuntime *runtime)
{
    JS_RunGC(runtime);
    if (!enlarge_tables(runtime) || !gather_free_atoms(runtime))
        return false;
    struct list_head *at, *next;
    list_for_each_safe(at, next, &runtime->gc_obj_list)
        init_list_head(at);
    init_list_head(&runtime->gc_obj_list);
    for (int size = 0; size < JS_ARENA_BLOCK_SIZE_COUNT; size++) {
        init_list_head(&runtime->arena_state.arena_list[size]);
        init_list_head(&runtime->arena_state.free_arena_list[size]);
    }
    return memory_keep();
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
