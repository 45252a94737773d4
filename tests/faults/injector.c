/* Counts the calls of a process that change files below some folders, those of SQLite and FAISS included, and makes one of them
 * fail or kills the process at it. Preloaded (LD_PRELOAD) into a Python process, which arms it through ctypes. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define KILL (-1)

static char folders[4][PATH_MAX];
static atomic_int count;     /* of calls since the injector was armed */
static atomic_int failures;  /* that were injected */
static int at;               /* the number of the call that fails; 0 for none */
static int fault;            /* the error, or KILL */
static int lasting;          /* all later calls fail, too */
static int torn;             /* half of a write is done before it fails */

void injector_arm(const char *one, const char *other, int call, int error, int for_good, int half) {
    snprintf(folders[0], PATH_MAX, "%s", one);
    snprintf(folders[1], PATH_MAX, "%s", other);
    at = call;
    fault = error;
    lasting = for_good;
    torn = half;
    atomic_store(&count, 0);
    atomic_store(&failures, 0);
}

void injector_disarm(void) {
    folders[0][0] = 0;
    folders[1][0] = 0;
}

int injector_count(void) { return atomic_load(&count); }

int injector_failures(void) { return atomic_load(&failures); }

static int is_below(const char *path) {
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(folders[i]);
        if (length && !strncmp(path, folders[i], length) && (path[length] == '/' || !path[length])) return 1;
    }
    return 0;
}

/* Whether a path, relative to an open folder or to the working folder, is below one of the folders. */
static int is_ours(int folder, const char *path) {
    if (!folders[0][0] || !path) return 0;
    if (path[0] == '/') return is_below(path);
    char link[64], whole[PATH_MAX];
    if (folder == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, whole, sizeof whole - 1);
    if (length < 0) return 0;
    whole[length] = 0;
    return is_below(whole);
}

static int is_ours_open(int descriptor) { return is_ours(descriptor, ""); }

/* Count a call; return whether it has to fail. */
static int fails(int ours) {
    if (!ours) return 0;
    int number = atomic_fetch_add(&count, 1) + 1;
    if (!at || number < at || (number > at && !lasting)) return 0;
    atomic_fetch_add(&failures, 1);
    return 1;
}

static void end(void) {
    if (fault == KILL) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = fault;
}

/* The mode of a new file is passed only with some flags. */
#define MODE(flags, last)                          \
    mode_t mode = 0;                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {         \
        va_list rest;                              \
        va_start(rest, last);                      \
        mode = va_arg(rest, mode_t);               \
        va_end(rest);                              \
    }

#define CHANGES(flags) (((flags) & O_ACCMODE) != O_RDONLY || ((flags) & (O_CREAT | O_TRUNC)))

#define FAIL(ours, result) \
    if (fails(ours)) {     \
        end();             \
        return result;     \
    }

#define NEXT(name) __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

int open(const char *path, int flags, ...) {
    MODE(flags, flags)
    FAIL(CHANGES(flags) && is_ours(AT_FDCWD, path), -1)
    NEXT(open);
    return next(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags, flags)
    FAIL(CHANGES(flags) && is_ours(AT_FDCWD, path), -1)
    NEXT(open64);
    return next(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE(flags, flags)
    FAIL(CHANGES(flags) && is_ours(folder, path), -1)
    NEXT(openat);
    return next(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE(flags, flags)
    FAIL(CHANGES(flags) && is_ours(folder, path), -1)
    NEXT(openat64);
    return next(folder, path, flags, mode);
}

int creat(const char *path, mode_t mode) {
    FAIL(is_ours(AT_FDCWD, path), -1)
    NEXT(creat);
    return next(path, mode);
}

FILE *fopen(const char *path, const char *how) {
    FAIL(strpbrk(how, "wa+") && is_ours(AT_FDCWD, path), NULL)
    NEXT(fopen);
    return next(path, how);
}

FILE *fopen64(const char *path, const char *how) {
    FAIL(strpbrk(how, "wa+") && is_ours(AT_FDCWD, path), NULL)
    NEXT(fopen64);
    return next(path, how);
}

#define WRITE(half)                        \
    if (fails(is_ours_open(descriptor))) { \
        if (torn && size > 1) {            \
            ssize_t written = half;        \
            (void)written;                 \
        }                                  \
        end();                             \
        return -1;                         \
    }

ssize_t write(int descriptor, const void *data, size_t size) {
    NEXT(write);
    WRITE(next(descriptor, data, size / 2))
    return next(descriptor, data, size);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t start) {
    NEXT(pwrite);
    WRITE(next(descriptor, data, size / 2, start))
    return next(descriptor, data, size, start);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t start) {
    NEXT(pwrite64);
    WRITE(next(descriptor, data, size / 2, start))
    return next(descriptor, data, size, start);
}

ssize_t writev(int descriptor, const struct iovec *parts, int number) {
    FAIL(is_ours_open(descriptor), -1)
    NEXT(writev);
    return next(descriptor, parts, number);
}

ssize_t sendfile(int descriptor, int source, off_t *start, size_t size) {
    ssize_t (*next)(int, int, off_t *, size_t) = dlsym(RTLD_NEXT, "sendfile");
    FAIL(is_ours_open(descriptor), -1)
    return next(descriptor, source, start, size);
}

ssize_t sendfile64(int descriptor, int source, off64_t *start, size_t size) {
    ssize_t (*next)(int, int, off64_t *, size_t) = dlsym(RTLD_NEXT, "sendfile64");
    FAIL(is_ours_open(descriptor), -1)
    return next(descriptor, source, start, size);
}

ssize_t copy_file_range(int source, off64_t *from, int descriptor, off64_t *to, size_t size, unsigned flags) {
    NEXT(copy_file_range);
    FAIL(is_ours_open(descriptor), -1)
    return next(source, from, descriptor, to, size, flags);
}

/* Calls with a descriptor, and those with one or two paths. */
#define CHANGE(name, ours, parameters, ...)  \
    int name parameters {                    \
        FAIL(ours, -1)                       \
        NEXT(name);                          \
        return next(__VA_ARGS__);            \
    }

CHANGE(fsync, is_ours_open(file), (int file), file)
CHANGE(fdatasync, is_ours_open(file), (int file), file)
CHANGE(ftruncate, is_ours_open(file), (int file, off_t size), file, size)
CHANGE(ftruncate64, is_ours_open(file), (int file, off64_t size), file, size)
CHANGE(fallocate, is_ours_open(file), (int file, int mode, off_t from, off_t size), file, mode, from, size)
CHANGE(unlink, is_ours(AT_FDCWD, path), (const char *path), path)
CHANGE(unlinkat, is_ours(folder, path), (int folder, const char *path, int flags), folder, path, flags)
CHANGE(remove, is_ours(AT_FDCWD, path), (const char *path), path)
CHANGE(rmdir, is_ours(AT_FDCWD, path), (const char *path), path)
CHANGE(mkdir, is_ours(AT_FDCWD, path), (const char *path, mode_t mode), path, mode)
CHANGE(mkdirat, is_ours(folder, path), (int folder, const char *path, mode_t mode), folder, path, mode)
CHANGE(truncate, is_ours(AT_FDCWD, path), (const char *path, off_t size), path, size)
CHANGE(rename, is_ours(AT_FDCWD, from) || is_ours(AT_FDCWD, to), (const char *from, const char *to), from, to)
CHANGE(renameat, is_ours(one, from) || is_ours(other, to), (int one, const char *from, int other, const char *to), one, from,
       other, to)
CHANGE(link, is_ours(AT_FDCWD, to), (const char *from, const char *to), from, to)
CHANGE(symlink, is_ours(AT_FDCWD, to), (const char *from, const char *to), from, to)
