/* TypeScript: the host makes JavaScript of it, and says where each place in that comes from. */
#include <stdlib.h>
#include <string.h>

#include "files.h"

/* The canonical ABI's layout of the world's `mapping` and of the result of `transpile`. */
struct mapping {
    uint32_t line, column, original_line, original_column;
};
struct transpiled {
    uint32_t failed;
    char *text;
    size_t text_length;
    struct mapping *mappings;
    size_t mapping_count;
};

__attribute__((import_module("$root"), import_name("transpile"))) void host_transpile(
    const char *name, size_t name_length, const uint8_t *source, size_t source_length, struct transpiled *result);

/* One per transpiled file, by the name it has in stack frames. They live as long as the run. */
struct file {
    struct file *next;
    struct mapping *mappings;
    size_t count;
    char name[];
};
static struct file *files;

static struct file *remember(const char *name, size_t length)
{
    struct file *file = memory_allocate(sizeof *file + length + 1);
    if (!file)
        return NULL;
    memcpy(file->name, name, length);
    file->name[length] = 0;
    file->next = files;
    files = file;
    return file;
}

/* What is empty has an address that nobody allocated. */
static void free_given(void *memory, size_t count)
{
    if (count)
        memory_free(memory);
}

/* transpile(path, source bytes, name in stack frames) → JavaScript; or [message] */
static BINDING(transpile_source)
{
    size_t name_length, source_length;
    JSValue value = JS_EXCEPTION;
    const char *path = path_of(ctx, argv[0]);
    if (!path && !JS_HasException(ctx))
        JS_ThrowRangeError(ctx, "the path is too long");
    const char *name = path ? JS_ToCStringLen(ctx, &name_length, argv[2]) : NULL;
    const uint8_t *source = name ? bytes_of(ctx, argv[1], &source_length) : NULL;
    if (!source)
        goto end;
    struct transpiled result = { 0 };
    host_transpile(path, strlen(path), source, source_length, &result);
    value = JS_NewStringLen(ctx, result.text, result.text_length);
    free_given(result.text, result.text_length);
    if ((result.failed & 0xFF) != 0) {
        value = JS_IsException(value) ? value : JS_NewArrayFrom(ctx, 1, &value);
        goto end;
    }
    struct file *file = remember(name, name_length);
    if (!file) {
        free_given(result.mappings, result.mapping_count);
        JS_FreeValue(ctx, value);
        value = JS_ThrowOutOfMemory(ctx);
        goto end;
    }
    file->mappings = result.mappings;
    file->count = result.mapping_count;
end:
    JS_FreeCString(ctx, path);
    JS_FreeCString(ctx, name);
    return value;
}

/* Lines and columns count from 1 here and from 0 in the table, which is in order. */
bool original_position(const char *name, int *line, int *column)
{
    struct file *file = files;
    while (file && strcmp(file->name, name))
        file = file->next;
    if (!file)
        return false;
    uint32_t wanted_line = (uint32_t)(*line - 1), wanted_column = (uint32_t)(*column - 1);
    size_t low = 0, high = file->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mapping *m = &file->mappings[middle];
        if (m->line < wanted_line || (m->line == wanted_line && m->column <= wanted_column))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return true;
    const struct mapping *found = &file->mappings[low - 1];
    if (found->line != wanted_line)
        return true;
    *line = (int)found->original_line + 1;
    *column = (int)(found->original_column + (wanted_column - found->column)) + 1;
    return true;
}

const JSCFunctionListEntry transpile_functions[] = {
    JS_CFUNC_DEF("transpile", 3, transpile_source),
};
const int transpile_function_count = sizeof transpile_functions / sizeof *transpile_functions;
