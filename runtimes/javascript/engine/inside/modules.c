/* importNow(specifier, base) → [promise of its evaluation, namespace]: loads, links and evaluates a module without
 * waiting for a job to run, as `require` of an ES module and the start of a main module need. */
static BINDING(module_import_now)
{
    JSValue result = JS_EXCEPTION;
    const char *specifier = JS_ToCString(ctx, argv[0]);
    const char *base = specifier ? JS_ToCString(ctx, argv[1]) : NULL;
    if (!base)
        goto end;
    JSModuleDef *module = js_host_resolve_imported_module(ctx, base, specifier, JS_UNDEFINED);
    if (!module)
        goto end;
    if (js_resolve_module(ctx, module) < 0) {
        js_free_modules(ctx, JS_FREE_MODULE_NOT_RESOLVED);
        goto end;
    }
    JSValue promise;
    if (module->status == JS_MODULE_STATUS_EVALUATING)
        promise = JS_UNDEFINED; /* It is on its way: the namespace is there, with what it has so far. */
    else
        promise = JS_EvalFunction(ctx, JS_NewModuleValue(ctx, module));
    if (JS_IsException(promise))
        goto end;
    JSValue namespace = JS_GetModuleNamespace(ctx, module);
    if (JS_IsException(namespace)) {
        JS_FreeValue(ctx, promise);
        goto end;
    }
    result = pair(ctx, promise, namespace);
end:
    JS_FreeCString(ctx, specifier);
    JS_FreeCString(ctx, base);
    return result;
}
