/* What files.c and paths.c share. */
#ifndef FILES_H
#define FILES_H

#include <sys/stat.h>

#include "engine.h"

/* Linux's number for `errno`, negative. */
JSValue file_failure(JSContext *ctx);
/* 0, or the failure if the result is negative. */
JSValue file_done(JSContext *ctx, int result);
/* NULL with an exception pending. Free it with JS_FreeCString. */
const char *path_of(JSContext *ctx, JSValueConst value);
JSValue status_of(JSContext *ctx, const struct stat *status);
int time_of(JSContext *ctx, JSValueConst value, struct timespec *time);

#endif
