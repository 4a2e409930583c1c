/* Open files, as WASI has them, and what they share with paths.c. Numbers that leave here are Linux's, as Node on Linux has them: errno, open flags, file types. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

static const struct { int ours, linux_number; } ERRNO[] = {
    { EPERM, 1 }, { ENOENT, 2 }, { EINTR, 4 }, { EIO, 5 }, { ENXIO, 6 }, { E2BIG, 7 }, { EBADF, 9 },
    { EAGAIN, 11 }, { ENOMEM, 12 }, { EACCES, 13 }, { EBUSY, 16 }, { EEXIST, 17 }, { EXDEV, 18 },
    { ENODEV, 19 }, { ENOTDIR, 20 }, { EISDIR, 21 }, { EINVAL, 22 }, { ENFILE, 23 }, { EMFILE, 24 },
    { ENOTTY, 25 }, { ETXTBSY, 26 }, { EFBIG, 27 }, { ENOSPC, 28 }, { ESPIPE, 29 }, { EROFS, 30 },
    { EMLINK, 31 }, { EPIPE, 32 }, { ERANGE, 34 }, { ENAMETOOLONG, 36 }, { ENOSYS, 38 },
    { ENOTEMPTY, 39 }, { ELOOP, 40 }, { EOVERFLOW, 75 }, { EILSEQ, 84 }, { ENOTSUP, 95 },
    { EDQUOT, 122 },
    /* A path that leads out of what was granted: for a script, one it may not touch. */
    { ENOTCAPABLE, 13 },
};

JSValue file_failure(JSContext *ctx)
{
    for (size_t i = 0; i < sizeof ERRNO / sizeof *ERRNO; i++)
        if (ERRNO[i].ours == errno)
            return JS_NewInt32(ctx, -ERRNO[i].linux_number);
    return JS_NewInt32(ctx, -5);
}

JSValue file_done(JSContext *ctx, int result)
{
    return result < 0 ? file_failure(ctx) : JS_NewInt32(ctx, 0);
}

/* A string as UTF-8 that is valid, as the host wants it: half a surrogate pair, which the interpreter writes as three
 * bytes from ED A0 to ED BF, becomes U+FFFD. A string that has one is never its own C string, so this changes a copy. */
const char *text_of(JSContext *ctx, size_t *length, JSValueConst value)
{
    const char *text = JS_ToCStringLen(ctx, length, value);
    if (!text)
        return NULL;
    uint8_t *bytes = (uint8_t *)text;
    for (size_t i = 0; i + 2 < *length; i++)
        if (bytes[i] == 0xED && bytes[i + 1] >= 0xA0)
            memcpy(bytes + i, "\xEF\xBF\xBD", 3);
    return text;
}

/* No system has paths this long. The host takes a limited number of bytes in one call, and a longer call ends the
 * run: such a path does not get that far. */
enum { PATH_LENGTH_MAX = 65536 };

const char *path_of(JSContext *ctx, JSValueConst value)
{
    size_t length;
    const char *path = text_of(ctx, &length, value);
    if (path && length > PATH_LENGTH_MAX) {
        JS_FreeCString(ctx, path);
        errno = ENAMETOOLONG;
        return NULL;
    }
    /* The Node layer refuses NUL in a path first, with Node's words. */
    if (path && strlen(path) != length) {
        JS_FreeCString(ctx, path);
        JS_ThrowTypeError(ctx, "a path must not contain null bytes");
        return NULL;
    }
    return path;
}

JSValue path_failure(JSContext *ctx)
{
    return JS_HasException(ctx) ? JS_EXCEPTION : file_failure(ctx);
}

static BINDING(file_open)
{
    static const struct { int linux_flag, ours; } FLAGS[] = {
        { 0100, O_CREAT }, { 0200, O_EXCL }, { 01000, O_TRUNC }, { 02000, O_APPEND },
        { 010000, O_DSYNC }, { 0200000, O_DIRECTORY }, { 0400000, O_NOFOLLOW },
    };
    static const int ACCESS[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR };
    int32_t wanted;
    if (JS_ToInt32(ctx, &wanted, argv[1]))
        return JS_EXCEPTION;
    int flags = ACCESS[wanted & 3];
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (wanted & FLAGS[i].linux_flag)
            flags |= FLAGS[i].ours;
    const char *path = path_of(ctx, argv[0]);
    if (!path)
        return path_failure(ctx);
    int fd = open(path, flags);
    JSValue result = fd < 0 ? file_failure(ctx) : JS_NewInt32(ctx, fd);
    JS_FreeCString(ctx, path);
    return result;
}

static BINDING(file_close)
{
    int32_t fd;
    if (JS_ToInt32(ctx, &fd, argv[0]))
        return JS_EXCEPTION;
    return file_done(ctx, close(fd));
}

/* The arguments (fd, bytes, offset, length, position) that reading and writing share. */
struct transfer {
    int32_t fd;
    uint8_t *bytes;
    size_t length;
    int64_t position;
};

static int transfer_of(JSContext *ctx, JSValueConst *argv, struct transfer *transfer)
{
    int64_t offset, length;
    size_t size;
    if (JS_ToInt32(ctx, &transfer->fd, argv[0]) || JS_ToInt64(ctx, &offset, argv[2]) ||
        JS_ToInt64(ctx, &length, argv[3]) || JS_ToInt64(ctx, &transfer->position, argv[4]))
        return -1;
    /* Last: the conversions above can run code that moves the bytes. */
    uint8_t *bytes = bytes_of(ctx, argv[1], &size);
    if (!bytes)
        return -1;
    if (offset < 0 || length < 0 || (uint64_t)offset > size || (uint64_t)length > size - (uint64_t)offset) {
        JS_ThrowRangeError(ctx, "out of the bounds of the buffer");
        return -1;
    }
    transfer->bytes = bytes + offset;
    transfer->length = (size_t)length;
    return 0;
}

/* The most that the host reads or writes in one call, which ends the run if it carries much more. */
enum { PIECE = 65536 };

static ssize_t read_piece(const struct transfer *t, size_t done)
{
    size_t left = t->length - done;
    size_t size = left < PIECE ? left : PIECE;
    uint8_t *bytes = t->bytes + done;
    ssize_t count;
    do
        count = t->position >= 0 ? pread(t->fd, bytes, size, t->position + (int64_t)done) : read(t->fd, bytes, size);
    while (count < 0 && errno == EINTR);
    return count;
}

static BINDING(file_read)
{
    struct transfer t;
    if (transfer_of(ctx, argv, &t))
        return JS_EXCEPTION;
    ssize_t count = read_piece(&t, 0);
    if (count >= 0) {
        /* A file gives all it has at once, as Linux does; what waits for input gives what there is. */
        size_t done = (size_t)count;
        while (t.fd > STDERR_FILENO && count == PIECE && done < t.length) {
            count = read_piece(&t, done);
            done += count > 0 ? (size_t)count : 0;
        }
        return JS_NewInt64(ctx, (int64_t)done);
    }
    /* WASI says "bad descriptor" of an open directory. */
    struct stat status;
    int reason = errno;
    if (fstat(t.fd, &status) == 0 && S_ISDIR(status.st_mode))
        reason = EISDIR;
    errno = reason;
    return file_failure(ctx);
}

static BINDING(file_write)
{
    struct transfer t;
    if (transfer_of(ctx, argv, &t))
        return JS_EXCEPTION;
    size_t done = 0;
    do {
        size_t left = t.length - done;
        const uint8_t *bytes = t.bytes + done;
        ssize_t count = t.position < 0
                            ? write(t.fd, bytes, left)
                            : pwrite(t.fd, bytes, left < PIECE ? left : PIECE, t.position + (int64_t)done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return done ? JS_NewInt64(ctx, (int64_t)done) : file_failure(ctx);
        done += (size_t)count;
    } while (t.position >= 0 && done < t.length);
    return JS_NewInt64(ctx, (int64_t)done);
}

/* writeText(fd, string): all of it as UTF-8, for the standard streams. */
static BINDING(file_write_text)
{
    int32_t fd;
    size_t length;
    if (JS_ToInt32(ctx, &fd, argv[0]))
        return JS_EXCEPTION;
    const char *text = text_of(ctx, &length, argv[1]);
    if (!text)
        return JS_EXCEPTION;
    size_t written = 0;
    JSValue result = JS_NewInt32(ctx, 0);
    while (written < length) {
        ssize_t count = write(fd, text + written, length - written);
        if (count < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (count < 0) {
            result = file_failure(ctx);
            break;
        }
        written += (size_t)count;
    }
    JS_FreeCString(ctx, text);
    return result;
}

static JSValue number_of(JSContext *ctx, uint64_t value)
{
    return value <= (UINT64_C(1) << 53) ? JS_NewInt64(ctx, (int64_t)value) : JS_NewBigUint64(ctx, value);
}

/* [type bits of the mode, dev, ino, nlink, size, then seconds and nanoseconds of atime, mtime, ctime]
 * `other` are the type bits of a file that WASI calls unknown. */
JSValue status_of(JSContext *ctx, const struct stat *status, int other)
{
    int type = S_ISREG(status->st_mode)   ? 0100000
               : S_ISDIR(status->st_mode) ? 0040000
               : S_ISLNK(status->st_mode) ? 0120000
               : S_ISCHR(status->st_mode) ? 0020000
               : S_ISBLK(status->st_mode) ? 0060000
                                          : other;
    JSValue fields[] = {
        JS_NewInt32(ctx, type),
        number_of(ctx, status->st_dev),
        number_of(ctx, status->st_ino),
        number_of(ctx, status->st_nlink),
        number_of(ctx, (uint64_t)status->st_size),
        JS_NewInt64(ctx, status->st_atim.tv_sec), JS_NewInt64(ctx, status->st_atim.tv_nsec),
        JS_NewInt64(ctx, status->st_mtim.tv_sec), JS_NewInt64(ctx, status->st_mtim.tv_nsec),
        JS_NewInt64(ctx, status->st_ctim.tv_sec), JS_NewInt64(ctx, status->st_ctim.tv_nsec),
    };
    return JS_NewArrayFrom(ctx, sizeof fields / sizeof *fields, fields);
}

static BINDING(file_fstat)
{
    int32_t fd;
    struct stat status;
    if (JS_ToInt32(ctx, &fd, argv[0]))
        return JS_EXCEPTION;
    return fstat(fd, &status) < 0 ? file_failure(ctx) : status_of(ctx, &status, 0010000);
}

static BINDING(file_truncate)
{
    int32_t fd;
    int64_t length;
    if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt64(ctx, &length, argv[1]))
        return JS_EXCEPTION;
    return file_done(ctx, ftruncate(fd, length));
}

static BINDING(file_sync)
{
    int32_t fd;
    if (JS_ToInt32(ctx, &fd, argv[0]))
        return JS_EXCEPTION;
    return file_done(ctx, fsync(fd));
}

/* Seconds since 1970 as the two numbers that files keep; earlier times round down as well. */
int time_of(JSContext *ctx, JSValueConst value, struct timespec *time)
{
    double seconds;
    if (JS_ToFloat64(ctx, &seconds, value))
        return -1;
    if (!(seconds > -1e11 && seconds < 1e11)) {
        JS_ThrowRangeError(ctx, "the time is out of range");
        return -1;
    }
    int64_t whole = (int64_t)seconds;
    if ((double)whole > seconds)
        whole--;
    /* Doubles hold microseconds of our times, not nanoseconds. */
    int64_t micro = (int64_t)((seconds - (double)whole) * 1e6 + 0.5);
    time->tv_sec = whole + micro / 1000000;
    time->tv_nsec = (long)(micro % 1000000) * 1000;
    return 0;
}

static BINDING(file_futimes)
{
    int32_t fd;
    struct timespec times[2];
    if (JS_ToInt32(ctx, &fd, argv[0]) || time_of(ctx, argv[1], &times[0]) || time_of(ctx, argv[2], &times[1]))
        return JS_EXCEPTION;
    return file_done(ctx, futimens(fd, times));
}

const JSCFunctionListEntry file_functions[] = {
    JS_CFUNC_DEF("open", 2, file_open),
    JS_CFUNC_DEF("close", 1, file_close),
    JS_CFUNC_DEF("read", 5, file_read),
    JS_CFUNC_DEF("write", 5, file_write),
    JS_CFUNC_DEF("writeText", 2, file_write_text),
    JS_CFUNC_DEF("fstat", 1, file_fstat),
    JS_CFUNC_DEF("truncate", 2, file_truncate),
    JS_CFUNC_DEF("sync", 1, file_sync),
    JS_CFUNC_DEF("futimes", 3, file_futimes),
};
const int file_function_count = sizeof file_functions / sizeof *file_functions;
