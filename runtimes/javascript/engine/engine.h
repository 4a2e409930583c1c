/* What the parts of the engine share: the binding that the Node layer is built on, and nothing that scripts see.
 *
 * Every function of the binding has the signature of a QuickJS C function. Those that touch files answer
 * with a negative number, Linux's errno, where the system refuses: making the Error is the Node layer's work. */
#ifndef ENGINE_H
#define ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickjs.h"

#define BINDING(name) JSValue name(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)

/* inside/: what needs the insides of the interpreter. */
JSContext *interpreter_new(JSRuntime *runtime);
void interpreter_reseed(JSContext *ctx, uint64_t seed);
size_t interpreter_heap(JSRuntime *runtime);
/* The error for when there is no memory for one; false if there is none already. */
bool interpreter_make_last_error(JSContext *ctx);
/* The bytes behind an ArrayBuffer, a typed array or a DataView; NULL with an exception pending otherwise. */
uint8_t *bytes_of(JSContext *ctx, JSValueConst value, size_t *size);

extern const JSCFunctionListEntry inside_functions[];
extern const int inside_function_count;

/* Makes everything that the interpreter has allocated part of the snapshot: see inside/heap.c. False without memory. */
bool interpreter_keep(JSRuntime *runtime);

/* memory.c: the interpreter's allocator. */
extern const JSMallocFunctions memory_functions;
void *memory_allocate(size_t size);
void *memory_resize(void *memory, size_t size);
void memory_free(void *memory);
/* Ends the time before the snapshot: what is allocated stays, and what comes lies above it. False without memory. */
bool memory_keep(void);
/* Where the memory of the snapshot ends; NULL before it is made. */
extern const char *snapshot_end;
static inline bool is_of_snapshot(const void *memory) { return (const char *)memory < snapshot_end; }
/* Holds some memory back; gives it up when there is no other, for the error that says so. */
void memory_reserve(void);
void memory_open_reserve(void);
/* Set when the memory could not be enlarged as usual; whoever does something about it resets it. */
extern bool memory_is_short;

/* files.c */
extern const JSCFunctionListEntry file_functions[];
extern const int file_function_count;

/* paths.c */
extern const JSCFunctionListEntry path_functions[];
extern const int path_function_count;
void files_begin(void);

/* text.c */
extern const JSCFunctionListEntry text_functions[];
extern const int text_function_count;

/* modules.c */
extern const JSCFunctionListEntry module_functions[];
extern const int module_function_count;
void modules_init(JSRuntime *runtime);
/* Gives a module that was parsed its `import.meta`; negative with an exception pending. */
int module_made(JSContext *ctx, JSModuleDef *module);

/* system.c */
extern const JSCFunctionListEntry system_functions[];
extern const int system_function_count;

/* hashes.c */
extern const JSCFunctionListEntry hash_functions[];
extern const int hash_function_count;

/* zones.c: how many seconds east of Greenwich local clocks are, at a time or when they show one. */
extern const JSCFunctionListEntry zone_functions[];
extern const int zone_function_count;
int32_t local_offset(int64_t milliseconds);
int32_t local_offset_of_wall(int64_t milliseconds);

/* transpile.c: where a place in transpiled code comes from. False if the file was not transpiled. */
extern const JSCFunctionListEntry transpile_functions[];
extern const int transpile_function_count;
bool original_position(const char *file, int *line, int *column);

#endif
