/* Files by name, as WASI has them. Paths are absolute and normal: the Node layer keeps the current directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wasi/api.h>
#include <wasi/libc.h>

#include "files.h"

void __wasilibc_reset_preopens(void);
void __wasilibc_populate_preopens(void);

enum { LINK_LENGTH_MAX = 65536 };

/* A file's type as Linux writes it into the mode, without the 12 bits below; 0 if there is none. */
__attribute__((import_module("$root"), import_name("file-type"))) int32_t host_file_type(const char *path, size_t length,
                                                                                         int32_t follow);

/* The type bits of a FIFO, a socket, or something stranger: preview 1 has no words for them. */
static int unknown_type(const char *path, bool follow)
{
    return (host_file_type(path, strlen(path), follow) & 0xF) << 12;
}

/* stat(path, follow) */
static BINDING(path_stat)
{
    struct stat status;
    bool follow = JS_ToBool(ctx, argv[1]);
    const char *path = path_of(ctx, argv[0]);
    if (!path)
        return path_failure(ctx);
    int result = follow ? stat(path, &status) : lstat(path, &status);
    JSValue value;
    if (result < 0) {
        value = file_failure(ctx);
    } else {
        bool known = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode) ||
                     S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
        value = status_of(ctx, &status, known ? 0 : unknown_type(path, follow));
    }
    JS_FreeCString(ctx, path);
    return value;
}

static int entry_type(unsigned char type)
{
    switch (type) {
    case DT_REG: return 1;
    case DT_DIR: return 2;
    case DT_LNK: return 3;
    case DT_CHR: return 6;
    case DT_BLK: return 7;
    default: return 0;
    }
}

/* [name, type, name, type, …], the types as libuv counts them. */
static BINDING(path_readdir)
{
    const char *path = path_of(ctx, argv[0]);
    if (!path)
        return path_failure(ctx);
    DIR *directory = opendir(path);
    JSValue result = directory ? JS_NewArray(ctx) : file_failure(ctx);
    JS_FreeCString(ctx, path);
    if (!directory || JS_IsException(result))
        goto end;
    uint32_t count = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(directory);
        if (!entry) {
            if (errno) {
                JS_FreeValue(ctx, result);
                result = file_failure(ctx);
            }
            break;
        }
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (JS_SetPropertyUint32(ctx, result, count++, JS_NewString(ctx, name)) < 0 ||
            JS_SetPropertyUint32(ctx, result, count++, JS_NewInt32(ctx, entry_type(entry->d_type))) < 0) {
            JS_FreeValue(ctx, result);
            result = JS_EXCEPTION;
            break;
        }
    }
end:
    if (directory)
        closedir(directory);
    return result;
}

static JSValue on_path(JSContext *ctx, JSValueConst value, int (*operation)(const char *))
{
    const char *path = path_of(ctx, value);
    if (!path)
        return path_failure(ctx);
    JSValue result = file_done(ctx, operation(path));
    JS_FreeCString(ctx, path);
    return result;
}

static int make_directory(const char *path)
{
    return mkdir(path, 0777);
}

static BINDING(path_mkdir) { return on_path(ctx, argv[0], make_directory); }
static BINDING(path_rmdir) { return on_path(ctx, argv[0], rmdir); }
static BINDING(path_unlink) { return on_path(ctx, argv[0], unlink); }

static JSValue on_paths(JSContext *ctx, JSValueConst *values, int (*operation)(const char *, const char *))
{
    const char *from = path_of(ctx, values[0]);
    const char *to = from ? path_of(ctx, values[1]) : NULL;
    JSValue result = to ? file_done(ctx, operation(from, to)) : path_failure(ctx);
    JS_FreeCString(ctx, from);
    JS_FreeCString(ctx, to);
    return result;
}

static BINDING(path_rename) { return on_paths(ctx, argv, rename); }
static BINDING(path_link) { return on_paths(ctx, argv, link); }
/* symlink(target, path) */
static BINDING(path_symlink) { return on_paths(ctx, argv, symlink); }

static BINDING(path_readlink)
{
    const char *path = path_of(ctx, argv[0]);
    if (!path)
        return path_failure(ctx);
    char *target = js_malloc(ctx, LINK_LENGTH_MAX);
    JSValue result = JS_EXCEPTION;
    if (target) {
        ssize_t length = readlink(path, target, LINK_LENGTH_MAX);
        result = length < 0 ? file_failure(ctx) : JS_NewStringLen(ctx, target, (size_t)length);
        js_free(ctx, target);
    }
    JS_FreeCString(ctx, path);
    return result;
}

/* writable(path, is a directory): tries it without changing anything. */
static BINDING(path_writable)
{
    bool directory = JS_ToBool(ctx, argv[1]);
    const char *path = path_of(ctx, argv[0]);
    if (!path)
        return path_failure(ctx);
    int result;
    if (directory) {
        const struct timespec unchanged[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };
        result = utimensat(AT_FDCWD, path, unchanged, 0);
    } else {
        result = open(path, O_WRONLY);
        if (result >= 0)
            close(result);
    }
    JSValue value = file_done(ctx, result);
    JS_FreeCString(ctx, path);
    return value;
}

/* utimes(path, atime, mtime, follow) */
static BINDING(path_utimes)
{
    struct timespec times[2];
    if (time_of(ctx, argv[1], &times[0]) || time_of(ctx, argv[2], &times[1]))
        return JS_EXCEPTION;
    int flags = JS_ToBool(ctx, argv[3]) ? 0 : AT_SYMLINK_NOFOLLOW;
    const char *path = path_of(ctx, argv[0]);
    if (!path)
        return path_failure(ctx);
    JSValue result = file_done(ctx, utimensat(AT_FDCWD, path, times, flags));
    JS_FreeCString(ctx, path);
    return result;
}

/* The directories that were granted, as absolute paths. */
static BINDING(path_preopens)
{
    JSValue list = JS_NewArray(ctx);
    if (JS_IsException(list))
        return list;
    uint32_t count = 0;
    __wasi_prestat_t prestat;
    for (__wasi_fd_t fd = 3; __wasi_fd_prestat_get(fd, &prestat) == 0; fd++) {
        size_t length = prestat.u.dir.pr_name_len;
        char *name = js_malloc(ctx, length + 1);
        if (!name)
            goto fail;
        JSValue path = __wasi_fd_prestat_dir_name(fd, (uint8_t *)name, length) == 0
                           ? JS_NewStringLen(ctx, name, length)
                           : JS_NewString(ctx, "/");
        js_free(ctx, name);
        if (JS_SetPropertyUint32(ctx, list, count++, path) < 0)
            goto fail;
    }
    return list;
fail:
    JS_FreeValue(ctx, list);
    return JS_EXCEPTION;
}

/* libc learnt the granted directories when the snapshot was made, and there were none. */
void files_begin(void)
{
    __wasilibc_reset_preopens();
    __wasilibc_populate_preopens();
}

const JSCFunctionListEntry path_functions[] = {
    JS_CFUNC_DEF("stat", 2, path_stat),
    JS_CFUNC_DEF("readdir", 1, path_readdir),
    JS_CFUNC_DEF("mkdir", 1, path_mkdir),
    JS_CFUNC_DEF("rmdir", 1, path_rmdir),
    JS_CFUNC_DEF("unlink", 1, path_unlink),
    JS_CFUNC_DEF("rename", 2, path_rename),
    JS_CFUNC_DEF("link", 2, path_link),
    JS_CFUNC_DEF("symlink", 2, path_symlink),
    JS_CFUNC_DEF("readlink", 1, path_readlink),
    JS_CFUNC_DEF("writable", 2, path_writable),
    JS_CFUNC_DEF("utimes", 4, path_utimes),
    JS_CFUNC_DEF("preopens", 0, path_preopens),
};
const int path_function_count = sizeof path_functions / sizeof *path_functions;
