/* What files.c and paths.c share. */
#ifndef FILES_H
#define FILES_H

#include <sys/stat.h>

#include "engine.h"

/* Linux's number for `errno`, negative. */
JSValue file_failure(JSContext *ctx);
/* 0, or the failure if the result is negative. */
JSValue file_done(JSContext *ctx, int result);
/* Free it with JS_FreeCString. NULL with an exception pending if it is no string. */
const char *text_of(JSContext *ctx, size_t *length, JSValueConst value);
/* Free it with JS_FreeCString. NULL if there is none: return `path_failure` then. */
const char *path_of(JSContext *ctx, JSValueConst value);
/* The exception that is pending, or `file_failure`. */
JSValue path_failure(JSContext *ctx);
JSValue status_of(JSContext *ctx, const struct stat *status, int other);
int time_of(JSContext *ctx, JSValueConst value, struct timespec *time);

#endif
