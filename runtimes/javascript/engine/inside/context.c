/* What `AsyncLocalStorage` carries from callback to callback: an opaque value of the Node layer. The interpreter, as
 * changed by quickjs.patch, keeps it with each reaction to a promise. */

static JSValue async_context = JS_UNDEFINED;

static void enter_context(JSContext *ctx, JSValueConst context)
{
    JSValue old = async_context;
    async_context = JS_DupValue(ctx, context);
    JS_FreeValue(ctx, old);
}

static BINDING(context_get)
{
    return JS_DupValue(ctx, async_context);
}

static BINDING(context_set)
{
    enter_context(ctx, argv[0]);
    return JS_UNDEFINED;
}
