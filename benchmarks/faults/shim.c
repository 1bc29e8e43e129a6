/* Loaded before libc (LD_PRELOAD): counts what a process does to the files under one folder, and at the n-th event kills
   the process, lets the call fail or sets the clock back. C++ and Rust libraries call libc as Python does, so none of
   them is left out. What is flushed is copied, by inode, for a power cut after which nothing else is there. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { READS = 1, WRITES = 2, CONTENTS = 4 }; /* contents: what puts bytes into files, which is also a write */
enum { COUNT, KILL, KILL_HALFWAY, FAIL, FAIL_FROM_THEN_ON, CLOCK_BACK };

static char root[4096]; /* empty: nothing is watched */
static size_t root_length;
static int classes, fault, number; /* number: errno of a call that fails */
static long at;
static long *counter; /* in memory that the parent shares */
static unsigned char watched[1 << 16];
static char flushed[4096]; /* where what is flushed goes; empty: nowhere */
static time_t set_back;    /* seconds */

void faults_arm(const char *folder, int which, int what, long event, int error, long *shared) {
    counter = shared, classes = which, fault = what, at = event, number = error;
    root_length = strlen(folder);
    memcpy(root, folder, root_length + 1);
}

void faults_keep_flushed(const char *folder) { strncpy(flushed, folder, sizeof flushed - 1); }

static int inside(const char *path) {
    return root_length && path && !strncmp(path, root, root_length) && (!path[root_length] || path[root_length] == '/');
}

static int is_watched(int fd) { return root_length && fd >= 0 && fd < (int)sizeof watched && watched[fd]; }

static void watch(int fd, int whether) {
    if (fd >= 0 && fd < (int)sizeof watched) watched[fd] = whether;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts an event; the error that the call must fail with, or 0. *halfway: the process dies after half of the call. */
static int event(int class, int *halfway) {
    if (!(class & classes)) return 0;
    long now = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    if (now < at || (now > at && fault != FAIL_FROM_THEN_ON)) return 0;
    if (fault == KILL) die();
    if (fault == CLOCK_BACK) set_back = 86400;
    if (fault == KILL_HALFWAY && halfway) *halfway = 1;
    return fault == FAIL || fault == FAIL_FROM_THEN_ON ? number : 0;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define REFUSED(condition, class, wrong) \
    do { \
        int error_ = (condition) ? event(class, NULL) : 0; \
        if (error_) { \
            errno = error_; \
            return wrong; \
        } \
    } while (0)

static int class_of(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC) ? WRITES : READS;
}

#define OPEN(name, parameters, arguments) \
    int name parameters { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list rest; \
            va_start(rest, flags); \
            mode = va_arg(rest, mode_t); \
            va_end(rest); \
        } \
        REFUSED(inside(path), class_of(flags), -1); \
        int fd = real arguments; \
        watch(fd, inside(path)); \
        return fd; \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int at_fd, const char *path, int flags, ...), (at_fd, path, flags, mode))
OPEN(openat64, (int at_fd, const char *path, int flags, ...), (at_fd, path, flags, mode))

#define FOPEN(name) \
    FILE *name(const char *path, const char *mode) { \
        REAL(name); \
        REFUSED(inside(path), strpbrk(mode, "wa+") ? WRITES : READS, NULL); \
        FILE *file = real(path, mode); \
        if (file) watch(fileno(file), inside(path)); \
        return file; \
    }
FOPEN(fopen)
FOPEN(fopen64)

int close(int fd) {
    REAL(close);
    watch(fd, 0);
    return real(fd);
}

int fclose(FILE *file) {
    REAL(fclose);
    watch(fileno(file), 0);
    return real(file);
}

DIR *opendir(const char *path) {
    REAL(opendir);
    REFUSED(inside(path), READS, NULL);
    return real(path);
}

/* A write that is cut short by a kill leaves its first half. */
#define WRITE(name, parameters, arguments, half) \
    ssize_t name parameters { \
        REAL(name); \
        if (!is_watched(fd)) return real arguments; \
        int halfway = 0, error = event(WRITES | CONTENTS, &halfway); \
        if (error) { \
            errno = error; \
            return -1; \
        } \
        if (halfway) { \
            if (size > 1) (void)!real half; \
            die(); \
        } \
        return real arguments; \
    }
WRITE(write, (int fd, const void *data, size_t size), (fd, data, size), (fd, data, size / 2))
WRITE(pwrite, (int fd, const void *data, size_t size, off_t to), (fd, data, size, to), (fd, data, size / 2, to))
WRITE(pwrite64, (int fd, const void *data, size_t size, off64_t to), (fd, data, size, to), (fd, data, size / 2, to))
WRITE(writev, (int fd, const struct iovec *data, int size), (fd, data, size), (fd, data, size / 2))

#define ON_FILE(result, name, class, parameters, arguments) \
    result name parameters { \
        REAL(name); \
        REFUSED(is_watched(fd), class, (result)-1); \
        return real arguments; \
    }
ON_FILE(ssize_t, read, READS, (int fd, void *data, size_t size), (fd, data, size))
ON_FILE(ssize_t, pread, READS, (int fd, void *data, size_t size, off_t from), (fd, data, size, from))
ON_FILE(ssize_t, pread64, READS, (int fd, void *data, size_t size, off64_t from), (fd, data, size, from))
ON_FILE(ssize_t, readv, READS, (int fd, const struct iovec *data, int size), (fd, data, size))

/* A file's bytes go to f<inode>, a folder's path and names to d<inode>: whole, under another name first. */
static void keep(int fd) {
    struct stat about;
    char from[64], half[4400], whole[4300], bytes[1 << 16];
    if (!*flushed || fstat(fd, &about)) return;
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    int folder = S_ISDIR(about.st_mode);
    snprintf(whole, sizeof whole, "%s/%c%lu", flushed, folder ? 'd' : 'f', (unsigned long)about.st_ino);
    snprintf(half, sizeof half, "%s.%d.half", whole, gettid());
    FILE *to = fopen(half, "w");
    if (!to) return;
    if (folder) {
        ssize_t length = readlink(from, bytes, sizeof bytes - 1);
        fprintf(to, "%.*s\n", (int)(length > 0 ? length : 0), bytes);
        DIR *names = opendir(from);
        for (struct dirent *each; names && (each = readdir(names));)
            if (strcmp(each->d_name, ".") && strcmp(each->d_name, ".."))
                fprintf(to, "%c%lu %s\n", each->d_type == DT_DIR ? 'd' : 'f', (unsigned long)each->d_ino, each->d_name);
        if (names) closedir(names);
    } else {
        int again = open(from, O_RDONLY);
        for (ssize_t size; again >= 0 && (size = read(again, bytes, sizeof bytes)) > 0;) fwrite(bytes, 1, size, to);
        if (again >= 0) close(again);
    }
    fclose(to);
    rename(half, whole);
}

#define FLUSH(name) \
    int name(int fd) { \
        REAL(name); \
        REFUSED(is_watched(fd), WRITES, -1); \
        int found = real(fd); \
        if (!found && is_watched(fd)) keep(fd); \
        return found; \
    }
FLUSH(fsync)
FLUSH(fdatasync)

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int found = real(clock, now);
    if (!found && clock == CLOCK_REALTIME) now->tv_sec -= set_back;
    return found;
}

int gettimeofday(struct timeval *now, void *zone) {
    REAL(gettimeofday);
    int found = real(now, zone);
    if (!found) now->tv_sec -= set_back;
    return found;
}

time_t time(time_t *now) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (now) *now = found.tv_sec;
    return found.tv_sec;
}

ON_FILE(int, ftruncate, WRITES, (int fd, off_t size), (fd, size))
ON_FILE(int, ftruncate64, WRITES, (int fd, off64_t size), (fd, size))
ON_FILE(void *, mmap, READS, (void *where, size_t size, int protection, int flags, int fd, off_t from),
        (where, size, protection, flags, fd, from))
ON_FILE(void *, mmap64, READS, (void *where, size_t size, int protection, int flags, int fd, off64_t from),
        (where, size, protection, flags, fd, from))

#define ON_PATH(name, class, parameters, arguments) \
    int name parameters { \
        REAL(name); \
        REFUSED(inside(path), class, -1); \
        return real arguments; \
    }
ON_PATH(rename, WRITES, (const char *path, const char *to), (path, to))
ON_PATH(renameat, WRITES, (int at_fd, const char *path, int to_fd, const char *to), (at_fd, path, to_fd, to))
ON_PATH(unlink, WRITES, (const char *path), (path))
ON_PATH(unlinkat, WRITES, (int at_fd, const char *path, int flags), (at_fd, path, flags))
ON_PATH(remove, WRITES, (const char *path), (path))
ON_PATH(rmdir, WRITES, (const char *path), (path))
ON_PATH(mkdir, WRITES, (const char *path, mode_t mode), (path, mode))
ON_PATH(mkdirat, WRITES, (int at_fd, const char *path, mode_t mode), (at_fd, path, mode))
ON_PATH(stat, READS, (const char *path, struct stat *found), (path, found))
ON_PATH(lstat, READS, (const char *path, struct stat *found), (path, found))
ON_PATH(stat64, READS, (const char *path, struct stat64 *found), (path, found))
ON_PATH(lstat64, READS, (const char *path, struct stat64 *found), (path, found))
ON_PATH(fstatat, READS, (int at_fd, const char *path, struct stat *found, int flags), (at_fd, path, found, flags))
ON_PATH(fstatat64, READS, (int at_fd, const char *path, struct stat64 *found, int flags), (at_fd, path, found, flags))

/* What programs built for an older libc call. */
int __xstat(int, const char *, struct stat *);
int __lxstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat64(int, const char *, struct stat64 *);
ON_PATH(__xstat, READS, (int version, const char *path, struct stat *found), (version, path, found))
ON_PATH(__lxstat, READS, (int version, const char *path, struct stat *found), (version, path, found))
ON_PATH(__xstat64, READS, (int version, const char *path, struct stat64 *found), (version, path, found))
ON_PATH(__lxstat64, READS, (int version, const char *path, struct stat64 *found), (version, path, found))
