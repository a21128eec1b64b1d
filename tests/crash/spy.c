/* Writes down, in order, what a process does to the files in one folder: preloaded by tests/crash/trace.py.

   SPY_FOLDER names the folder, SPY_LOG the log. A record is
       op (1 byte), length of the name (1), offset (8), length of the data (4), name, data
   with op one of w(rite) s(ync) t(runcate) u(nlink) r(ename). The call and its record are one step under a lock, so the
   order of the log is the order in which things happened, whatever the threads do. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define FILES 4096
#define NAME 64

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char names[FILES][NAME]; /* by descriptor; empty: not ours */
static const char *folder;
static int book = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SPY_LOG");
    folder = getenv("SPY_FOLDER");
    if (path && folder)
        book = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static const char *ours(const char *path) {
    size_t length = folder ? strlen(folder) : 0;
    if (book < 0 || !path || strncmp(path, folder, length) || path[length] != '/')
        return NULL;
    const char *name = path + length + 1;
    return strchr(name, '/') || strlen(name) >= NAME ? NULL : name;
}

static const char *known(int fd) {
    return book >= 0 && fd >= 0 && fd < FILES && names[fd][0] ? names[fd] : NULL;
}

static void put(const void *from, size_t length) {
    const char *at = from;
    while (length > 0) {
        ssize_t wrote = syscall(SYS_write, book, at, length);
        if (wrote <= 0)
            abort();
        at += wrote;
        length -= wrote;
    }
}

static void note(char op, const char *name, uint64_t offset, const void *data, uint32_t length) {
    unsigned char head[14];
    int kept = errno;
    head[0] = op;
    head[1] = strlen(name);
    memcpy(head + 2, &offset, 8);
    memcpy(head + 10, &length, 4);
    put(head, sizeof head);
    put(name, head[1]);
    if (length)
        put(data, length);
    errno = kept;
}

static int opened(const char *path, int fd) {
    const char *name = ours(path);
    if (name && fd >= 0 && fd < FILES)
        strcpy(names[fd], name);
    return fd;
}

#define OPEN(function)                                                        \
    int function(const char *path, int flags, ...) {                          \
        va_list rest;                                                         \
        va_start(rest, flags);                                                \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;     \
        va_end(rest);                                                         \
        return opened(path, syscall(SYS_openat, AT_FDCWD, path, flags, mode)); \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    if (known(fd))
        names[fd][0] = 0;
    return syscall(SYS_close, fd);
}

static ssize_t wrote(int fd, const void *data, size_t length, off_t offset, int placed) {
    const char *name = known(fd);
    if (!name)
        return placed ? syscall(SYS_pwrite64, fd, data, length, offset) : syscall(SYS_write, fd, data, length);
    pthread_mutex_lock(&turn);
    ssize_t done = placed ? syscall(SYS_pwrite64, fd, data, length, offset) : syscall(SYS_write, fd, data, length);
    if (done > 0)
        note('w', name, placed ? offset : 0, data, done);
    pthread_mutex_unlock(&turn);
    return done;
}

ssize_t write(int fd, const void *data, size_t length) { return wrote(fd, data, length, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return wrote(fd, data, length, offset, 1); }
ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) { return wrote(fd, data, length, offset, 1); }

static int told(char op, const char *name, long call, long first, long second) {
    if (!name)
        return syscall(call, first, second);
    pthread_mutex_lock(&turn);
    int done = syscall(call, first, second);
    if (done == 0)
        note(op, name, op == 't' ? second : 0, NULL, 0);
    pthread_mutex_unlock(&turn);
    return done;
}

int fsync(int fd) { return told('s', known(fd), SYS_fsync, fd, 0); }
int fdatasync(int fd) { return told('s', known(fd), SYS_fdatasync, fd, 0); }
int ftruncate(int fd, off_t size) { return told('t', known(fd), SYS_ftruncate, fd, size); }
int ftruncate64(int fd, off_t size) { return told('t', known(fd), SYS_ftruncate, fd, size); }

int unlink(const char *path) {
    const char *name = ours(path);
    pthread_mutex_lock(&turn);
    int done = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (name && done == 0)
        note('u', name, 0, NULL, 0);
    pthread_mutex_unlock(&turn);
    return done;
}

int rename(const char *from, const char *to) {
    const char *name = ours(from), *next = ours(to);
    pthread_mutex_lock(&turn);
    int done = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (name && done == 0)
        note('r', name, 0, next ? next : "", next ? strlen(next) : 0);
    pthread_mutex_unlock(&turn);
    return done;
}
