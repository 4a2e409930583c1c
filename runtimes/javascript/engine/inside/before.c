/* What the interpreter, as changed by quickjs.patch, calls: taken in before it. */

/* Thrown where not even an error can be made. */
static JSValue last_error = JS_NULL;

/* A specifier as a C string, which has no place for NUL: that becomes `%00`, as in a URL. Free it with JS_FreeCString. */
static const char *specifier_of(JSContext *ctx, JSValueConst value)
{
    size_t length, size = 0;
    const char *text = JS_ToCStringLen(ctx, &length, value);
    if (!text || strlen(text) == length)
        return text;
    char *escaped = js_malloc(ctx, 3 * length);
    const char *result = NULL;
    if (escaped) {
        for (size_t i = 0; i < length; i++) {
            if (text[i]) {
                escaped[size++] = text[i];
            } else {
                memcpy(escaped + size, "%00", 3);
                size += 3;
            }
        }
        JSValue whole = JS_NewStringLen(ctx, escaped, size);
        js_free(ctx, escaped);
        result = JS_IsException(whole) ? NULL : JS_ToCString(ctx, whole);
        JS_FreeValue(ctx, whole);
    }
    JS_FreeCString(ctx, text);
    return result;
}

/* In heap.c. */
static bool collect_in_need(JSRuntime *runtime);
static bool collect_for(JSRuntime *runtime, size_t size);
