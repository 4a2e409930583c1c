/* Clocks, randomness, waiting, the environment, the end of the run. */
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>

#include "files.h"

__attribute__((import_module("$root"), import_name("exit"))) void host_exit(int32_t code);

__attribute__((import_module("$root"), import_name("denied"))) void host_denied(const char *grant, size_t length);

/* denied(grant): for the host's list of what was refused. */
static BINDING(system_denied)
{
    size_t length;
    const char *grant = text_of(ctx, &length, argv[0]);
    if (!grant)
        return JS_EXCEPTION;
    host_denied(grant, length);
    JS_FreeCString(ctx, grant);
    return JS_UNDEFINED;
}

static BINDING(system_exit)
{
    int32_t code;
    if (JS_ToInt32(ctx, &code, argv[0]))
        return JS_EXCEPTION;
    host_exit(code & 0xFF);
    return JS_UNDEFINED;
}

/* Random bytes from one call. The host gives a limited number of them, and ends the run that asks for more. */
enum { RANDOM_PIECE = 1 << 20 };

static BINDING(system_random)
{
    size_t size;
    uint8_t *bytes = bytes_of(ctx, argv[0], &size);
    if (!bytes)
        return JS_EXCEPTION;
    for (size_t done = 0; done < size; done += RANDOM_PIECE) {
        size_t left = size - done;
        if (__wasi_random_get(bytes + done, left < RANDOM_PIECE ? left : RANDOM_PIECE))
            return JS_ThrowInternalError(ctx, "the host gives no random bytes");
    }
    return JS_UNDEFINED;
}

static uint64_t monotonic(void)
{
    __wasi_timestamp_t now;
    return __wasi_clock_time_get(__WASI_CLOCKID_MONOTONIC, 1, &now) ? 0 : now;
}

static BINDING(system_hrtime)
{
    return JS_NewBigUint64(ctx, monotonic());
}

/* The monotonic clock in milliseconds: a double is exact enough for timers, and cheap. */
static BINDING(system_now)
{
    return JS_NewFloat64(ctx, (double)monotonic() / 1e6);
}

/* wait(milliseconds, stdin): until the time is over (never, if negative) or, if asked, stdin can be read.
 * True if stdin can. */
static BINDING(system_wait)
{
    double milliseconds;
    if (JS_ToFloat64(ctx, &milliseconds, argv[0]))
        return JS_EXCEPTION;
    bool input = JS_ToBool(ctx, argv[1]);
    __wasi_subscription_t subscriptions[2];
    __wasi_event_t events[2];
    __wasi_size_t count = 0, ready = 0;
    memset(subscriptions, 0, sizeof subscriptions);
    if (milliseconds >= 0) {
        __wasi_subscription_t *clock = &subscriptions[count++];
        clock->userdata = 0;
        clock->u.tag = __WASI_EVENTTYPE_CLOCK;
        clock->u.u.clock.id = __WASI_CLOCKID_MONOTONIC;
        clock->u.u.clock.timeout = milliseconds > 1e12 ? UINT64_C(1000000000000000000) : (uint64_t)(milliseconds * 1e6);
    }
    if (input) {
        __wasi_subscription_t *reader = &subscriptions[count++];
        reader->userdata = 1;
        reader->u.tag = __WASI_EVENTTYPE_FD_READ;
        reader->u.u.fd_read.file_descriptor = 0;
    }
    if (count == 0)
        return JS_FALSE;
    if (__wasi_poll_oneoff(subscriptions, events, count, &ready))
        /* Some systems cannot poll a file; reading it then does not block. */
        return JS_NewBool(ctx, input);
    for (__wasi_size_t i = 0; i < ready; i++)
        if (events[i].userdata == 1)
            return JS_TRUE;
    return JS_FALSE;
}

/* [name, value, name, value, …] */
static BINDING(system_environment)
{
    __wasi_size_t count, size;
    JSValue list = JS_NewArray(ctx);
    if (JS_IsException(list) || __wasi_environ_sizes_get(&count, &size) || count == 0)
        return list;
    uint8_t **entries = js_malloc(ctx, (count + 1) * sizeof *entries);
    uint8_t *bytes = entries ? js_malloc(ctx, size + 1) : NULL;
    if (!bytes)
        goto fail;
    if (__wasi_environ_get(entries, bytes))
        count = 0;
    uint32_t index = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = (const char *)entries[i];
        const char *equals = strchr(name, '=');
        if (!equals)
            continue;
        if (JS_SetPropertyUint32(ctx, list, index++, JS_NewStringLen(ctx, name, (size_t)(equals - name))) < 0 ||
            JS_SetPropertyUint32(ctx, list, index++, JS_NewString(ctx, equals + 1)) < 0)
            goto fail;
    }
    js_free(ctx, bytes);
    js_free(ctx, entries);
    return list;
fail:
    js_free(ctx, bytes);
    js_free(ctx, entries);
    JS_FreeValue(ctx, list);
    return JS_EXCEPTION;
}

static BINDING(system_memory_usage)
{
    JSValue numbers[] = {
        JS_NewInt64(ctx, (int64_t)__builtin_wasm_memory_size(0) * 65536),
        JS_NewInt64(ctx, (int64_t)interpreter_heap(JS_GetRuntime(ctx))),
    };
    return JS_NewArrayFrom(ctx, 2, numbers);
}

static BINDING(system_gc)
{
    JS_RunGC(JS_GetRuntime(ctx));
    return JS_UNDEFINED;
}

const JSCFunctionListEntry system_functions[] = {
    JS_CFUNC_DEF("exit", 1, system_exit),
    JS_CFUNC_DEF("denied", 1, system_denied),
    JS_CFUNC_DEF("random", 1, system_random),
    JS_CFUNC_DEF("hrtime", 0, system_hrtime),
    JS_CFUNC_DEF("now", 0, system_now),
    JS_CFUNC_DEF("wait", 2, system_wait),
    JS_CFUNC_DEF("environment", 0, system_environment),
    JS_CFUNC_DEF("memoryUsage", 0, system_memory_usage),
    JS_CFUNC_DEF("gc", 0, system_gc),
};
const int system_function_count = sizeof system_functions / sizeof *system_functions;
