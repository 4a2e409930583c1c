/* What values are, whatever scripts did to their prototypes: for `util.inspect` and `util.types`. */

static JSValue pair(JSContext *ctx, JSValue first, JSValue second)
{
    JSValue both[] = { first, second };
    return JS_NewArrayFrom(ctx, 2, both);
}

static BINDING(value_promise_details)
{
    int state = JS_PromiseState(ctx, argv[0]);
    if (state < 0)
        return JS_UNDEFINED;
    return pair(ctx, JS_NewInt32(ctx, state), state == JS_PROMISE_PENDING ? JS_UNDEFINED : JS_PromiseResult(ctx, argv[0]));
}

static BINDING(value_proxy_details)
{
    if (!JS_IsProxy(argv[0]))
        return JS_UNDEFINED;
    JSProxyData *proxy = JS_VALUE_GET_OBJ(argv[0])->u.opaque;
    /* A revoked one has lost both. */
    if (proxy->is_revoked)
        return pair(ctx, JS_NULL, JS_NULL);
    return pair(ctx, js_dup(proxy->target), js_dup(proxy->handler));
}

/* The name of the class an object was made as; undefined for what is no object. */
static BINDING(value_class_name)
{
    if (JS_VALUE_GET_TAG(argv[0]) != JS_TAG_OBJECT)
        return JS_UNDEFINED;
    int class_id = JS_VALUE_GET_OBJ(argv[0])->class_id;
    if (class_id == JS_CLASS_MODULE_NS)
        return JS_NewString(ctx, "Module");
    return JS_AtomToString(ctx, ctx->rt->class_array[class_id].class_name);
}

static int append(JSContext *ctx, JSValueConst list, uint32_t *count, JSValueConst value)
{
    return JS_SetPropertyUint32(ctx, list, (*count)++, js_dup(value));
}

/* previewEntries(map, set, or an iterator over one) → [flat list, whether it holds keys and values]. Nothing moves on. */
static BINDING(value_preview_entries)
{
    if (JS_VALUE_GET_TAG(argv[0]) != JS_TAG_OBJECT)
        return JS_UNDEFINED;
    JSObject *object = JS_VALUE_GET_OBJ(argv[0]);
    JSMapState *map = NULL;
    struct list_head *link = NULL;
    bool keys = true, values = false;
    switch (object->class_id) {
    case JS_CLASS_MAP:
    case JS_CLASS_WEAKMAP:
        values = true;
        /* fallthrough */
    case JS_CLASS_SET:
    case JS_CLASS_WEAKSET:
        map = object->u.map_state;
        if (map)
            link = map->records.next;
        break;
    case JS_CLASS_MAP_ITERATOR:
    case JS_CLASS_SET_ITERATOR: {
        JSMapIteratorData *iterator = object->u.map_iterator_data;
        if (!iterator || JS_IsUndefined(iterator->obj))
            break;
        map = JS_VALUE_GET_OBJ(iterator->obj)->u.map_state;
        link = iterator->cur_record ? iterator->cur_record->link.next : map->records.next;
        bool of_set = object->class_id == JS_CLASS_SET_ITERATOR;
        keys = of_set || iterator->kind != JS_ITERATOR_KIND_VALUE;
        values = iterator->kind != JS_ITERATOR_KIND_KEY && (!of_set || iterator->kind == JS_ITERATOR_KIND_KEY_AND_VALUE);
        break;
    }
    default:
        return JS_UNDEFINED;
    }
    JSValue list = JS_NewArray(ctx);
    if (JS_IsException(list))
        return list;
    bool of_set = object->class_id == JS_CLASS_SET_ITERATOR;
    uint32_t count = 0;
    for (; map && link != &map->records; link = link->next) {
        JSMapRecord *record = list_entry(link, JSMapRecord, link);
        if (record->empty)
            continue;
        if ((keys && append(ctx, list, &count, record->key) < 0) ||
            (values && append(ctx, list, &count, of_set ? record->key : record->value) < 0)) {
            JS_FreeValue(ctx, list);
            return JS_EXCEPTION;
        }
    }
    return pair(ctx, list, JS_NewBool(ctx, keys && values));
}

/* The own keys of an object that are not array indices: without a list of a million numbers first. */
static BINDING(value_own_non_index)
{
    if (JS_VALUE_GET_TAG(argv[0]) != JS_TAG_OBJECT)
        return JS_NewArray(ctx);
    JSObject *object = JS_VALUE_GET_OBJ(argv[0]);
    JSValue list = JS_NewArray(ctx);
    if (JS_IsException(list) || JS_IsProxy(argv[0]))
        return list;
    JSShape *shape = object->shape;
    uint32_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        JSShapeProperty *property = get_shape_prop(shape);
        for (int i = 0; i < shape->prop_count; i++, property++) {
            uint32_t index;
            if (property->atom == JS_ATOM_NULL || JS_AtomIsArrayIndex(ctx, &index, property->atom))
                continue;
            JSAtomKindEnum kind = JS_AtomGetKind(ctx, property->atom);
            if (kind != (pass ? JS_ATOM_KIND_SYMBOL : JS_ATOM_KIND_STRING))
                continue;
            JSValue key = JS_AtomToValue(ctx, property->atom);
            if (JS_IsException(key) || JS_SetPropertyUint32(ctx, list, count++, key) < 0) {
                JS_FreeValue(ctx, list);
                return JS_EXCEPTION;
            }
        }
    }
    return list;
}
