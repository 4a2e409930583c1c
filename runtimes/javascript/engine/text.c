/* Strings to bytes and back: the encodings that Buffer and TextDecoder are built on. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* The bytes `start` to `end` of a buffer, as (bytes, start, end) name them. */
struct slice {
    const uint8_t *bytes;
    size_t length;
};

static int slice_of(JSContext *ctx, JSValueConst *argv, struct slice *slice)
{
    int64_t start, end;
    size_t size;
    if (JS_ToInt64(ctx, &start, argv[1]) || JS_ToInt64(ctx, &end, argv[2]))
        return -1;
    const uint8_t *bytes = bytes_of(ctx, argv[0], &size);
    if (!bytes)
        return -1;
    if (start < 0 || end < start || (uint64_t)end > size) {
        JS_ThrowRangeError(ctx, "out of the bounds of the buffer");
        return -1;
    }
    slice->bytes = bytes + start;
    slice->length = (size_t)(end - start);
    return 0;
}

static bool is_surrogate(uint32_t unit) { return (unit & 0xF800) == 0xD800; }

/* The character at `*index` of UTF-16 text, past which the index moves; U+FFFD for half a pair. */
static uint32_t next_character(const uint16_t *text, size_t length, size_t *index)
{
    uint32_t unit = text[(*index)++];
    if (!is_surrogate(unit))
        return unit;
    if (unit < 0xDC00 && *index < length && (text[*index] & 0xFC00) == 0xDC00)
        return 0x10000 + ((unit & 0x3FF) << 10) + (text[(*index)++] & 0x3FF);
    return 0xFFFD;
}

static size_t utf8_size(uint32_t character)
{
    return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

static uint8_t *put_utf8(uint8_t *out, uint32_t character)
{
    switch (utf8_size(character)) {
    case 1:
        *out++ = (uint8_t)character;
        break;
    case 2:
        *out++ = (uint8_t)(0xC0 | character >> 6);
        *out++ = (uint8_t)(0x80 | (character & 0x3F));
        break;
    case 3:
        *out++ = (uint8_t)(0xE0 | character >> 12);
        *out++ = (uint8_t)(0x80 | (character >> 6 & 0x3F));
        *out++ = (uint8_t)(0x80 | (character & 0x3F));
        break;
    default:
        *out++ = (uint8_t)(0xF0 | character >> 18);
        *out++ = (uint8_t)(0x80 | (character >> 12 & 0x3F));
        *out++ = (uint8_t)(0x80 | (character >> 6 & 0x3F));
        *out++ = (uint8_t)(0x80 | (character & 0x3F));
    }
    return out;
}

static size_t utf8_length_of(const uint16_t *text, size_t length)
{
    size_t total = 0;
    for (size_t i = 0; i < length;)
        total += utf8_size(next_character(text, length, &i));
    return total;
}

static void *resize(JSRuntime *runtime, void *opaque, void *bytes, size_t size)
{
    (void)opaque;
    if (size == 0) {
        js_free_rt(runtime, bytes);
        return NULL;
    }
    return js_realloc_rt(runtime, bytes, size);
}

static BINDING(text_utf8_encode)
{
    size_t length;
    const uint16_t *text = JS_ToCStringLenUTF16(ctx, &length, argv[0]);
    if (!text)
        return JS_EXCEPTION;
    size_t size = utf8_length_of(text, length);
    uint8_t *bytes = js_malloc(ctx, size + 1);
    if (!bytes) {
        JS_FreeCStringUTF16(ctx, text);
        return JS_EXCEPTION;
    }
    uint8_t *out = bytes;
    for (size_t i = 0; i < length;)
        out = put_utf8(out, next_character(text, length, &i));
    JS_FreeCStringUTF16(ctx, text);
    return JS_NewUint8Array(ctx, bytes, size, resize, NULL, false);
}

static BINDING(text_utf8_length)
{
    size_t length;
    const uint16_t *text = JS_ToCStringLenUTF16(ctx, &length, argv[0]);
    if (!text)
        return JS_EXCEPTION;
    size_t size = utf8_length_of(text, length);
    JS_FreeCStringUTF16(ctx, text);
    return JS_NewInt64(ctx, (int64_t)size);
}

/* (string, bytes, offset, max): where the encoded string goes. `max` is cut to what the buffer holds. */
struct target {
    const uint16_t *text;
    size_t length;
    uint8_t *bytes;
    size_t room;
};

static int target_of(JSContext *ctx, JSValueConst *argv, struct target *target)
{
    int64_t offset, max;
    size_t size;
    if (JS_ToInt64(ctx, &offset, argv[2]) || JS_ToInt64(ctx, &max, argv[3]))
        return -1;
    target->text = JS_ToCStringLenUTF16(ctx, &target->length, argv[0]);
    if (!target->text)
        return -1;
    uint8_t *bytes = bytes_of(ctx, argv[1], &size);
    if (!bytes)
        goto fail;
    if (offset < 0 || max < 0 || (uint64_t)offset > size) {
        JS_ThrowRangeError(ctx, "out of the bounds of the buffer");
        goto fail;
    }
    target->bytes = bytes + offset;
    target->room = size - (size_t)offset;
    if ((uint64_t)max < target->room)
        target->room = (size_t)max;
    return 0;
fail:
    JS_FreeCStringUTF16(ctx, target->text);
    return -1;
}

static JSValue written(JSContext *ctx, struct target *target, size_t count)
{
    JS_FreeCStringUTF16(ctx, target->text);
    return JS_NewInt64(ctx, (int64_t)count);
}

static BINDING(text_utf8_write)
{
    struct target t;
    if (target_of(ctx, argv, &t))
        return JS_EXCEPTION;
    uint8_t *out = t.bytes, *end = t.bytes + t.room;
    for (size_t i = 0; i < t.length;) {
        uint32_t character = next_character(t.text, t.length, &i);
        if ((size_t)(end - out) < utf8_size(character))
            break;
        out = put_utf8(out, character);
    }
    return written(ctx, &t, (size_t)(out - t.bytes));
}

static BINDING(text_latin1_write)
{
    struct target t;
    if (target_of(ctx, argv, &t))
        return JS_EXCEPTION;
    size_t count = t.length < t.room ? t.length : t.room;
    for (size_t i = 0; i < count; i++)
        t.bytes[i] = (uint8_t)t.text[i];
    return written(ctx, &t, count);
}

static BINDING(text_utf16_write)
{
    struct target t;
    if (target_of(ctx, argv, &t))
        return JS_EXCEPTION;
    size_t count = t.length < t.room / 2 ? t.length : t.room / 2;
    memcpy(t.bytes, t.text, count * 2);
    return written(ctx, &t, count * 2);
}

/* The length of the character at the start of `bytes`; 0 if it is malformed, then `*bad` says how many bytes
 * one U+FFFD stands for, by the rule of the Encoding standard. */
static size_t utf8_sequence(const uint8_t *bytes, size_t length, size_t *bad)
{
    uint8_t first = bytes[0];
    *bad = 1;
    if (first < 0x80)
        return 1;
    size_t need = first >= 0xC2 && first <= 0xDF ? 1 : (first & 0xF0) == 0xE0 ? 2 : first >= 0xF0 && first <= 0xF4 ? 3 : 0;
    uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    for (size_t i = 1; i <= need; i++) {
        if (i >= length || bytes[i] < low || bytes[i] > high) {
            *bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xBF;
    }
    return need ? need + 1 : 0;
}

static bool utf8_is_valid(const uint8_t *bytes, size_t length)
{
    size_t bad;
    for (size_t i = 0; i < length;) {
        size_t size = utf8_sequence(bytes + i, length - i, &bad);
        if (!size)
            return false;
        i += size;
    }
    return true;
}

static BINDING(text_utf8_valid)
{
    size_t size;
    const uint8_t *bytes = bytes_of(ctx, argv[0], &size);
    if (!bytes)
        return JS_EXCEPTION;
    return JS_NewBool(ctx, utf8_is_valid(bytes, size));
}

static BINDING(text_utf8_decode)
{
    struct slice s;
    if (slice_of(ctx, argv, &s))
        return JS_EXCEPTION;
    if (utf8_is_valid(s.bytes, s.length))
        return JS_NewStringLen(ctx, (const char *)s.bytes, s.length);
    /* Every malformed byte grows to three at most. */
    uint8_t *clean = js_malloc(ctx, s.length * 3 + 1);
    if (!clean)
        return JS_EXCEPTION;
    uint8_t *out = clean;
    for (size_t i = 0; i < s.length;) {
        size_t bad, size = utf8_sequence(s.bytes + i, s.length - i, &bad);
        if (size) {
            memcpy(out, s.bytes + i, size);
            out += size;
            i += size;
        } else {
            out = put_utf8(out, 0xFFFD);
            i += bad;
        }
    }
    JSValue text = JS_NewStringLen(ctx, (const char *)clean, (size_t)(out - clean));
    js_free(ctx, clean);
    return text;
}

static JSValue text_of_units(JSContext *ctx, struct slice *s, size_t unit)
{
    size_t count = s->length / unit;
    uint16_t *units = js_malloc(ctx, count * 2 + 2);
    if (!units)
        return JS_EXCEPTION;
    if (unit == 2)
        memcpy(units, s->bytes, count * 2);
    else
        for (size_t i = 0; i < count; i++)
            units[i] = s->bytes[i];
    JSValue text = JS_NewStringUTF16(ctx, units, count);
    js_free(ctx, units);
    return text;
}

static BINDING(text_latin1_decode)
{
    struct slice s;
    if (slice_of(ctx, argv, &s))
        return JS_EXCEPTION;
    return text_of_units(ctx, &s, 1);
}

static BINDING(text_utf16_decode)
{
    struct slice s;
    if (slice_of(ctx, argv, &s))
        return JS_EXCEPTION;
    return text_of_units(ctx, &s, 2);
}

const JSCFunctionListEntry text_functions[] = {
    JS_CFUNC_DEF("utf8Encode", 1, text_utf8_encode),
    JS_CFUNC_DEF("utf8Decode", 3, text_utf8_decode),
    JS_CFUNC_DEF("utf8Length", 1, text_utf8_length),
    JS_CFUNC_DEF("utf8Write", 4, text_utf8_write),
    JS_CFUNC_DEF("utf8Valid", 1, text_utf8_valid),
    JS_CFUNC_DEF("latin1Decode", 3, text_latin1_decode),
    JS_CFUNC_DEF("latin1Write", 4, text_latin1_write),
    JS_CFUNC_DEF("utf16Decode", 3, text_utf16_decode),
    JS_CFUNC_DEF("utf16Write", 4, text_utf16_write),
};
const int text_function_count = sizeof text_functions / sizeof *text_functions;
