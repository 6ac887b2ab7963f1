/* A disk under a real process, loaded before libc. It remembers what a real disk would hold: the bytes of each file as
 * they were at its last flush. Everything else lies only in the machine's memory. When the power goes, the files are
 * put back to what the disk holds, and the process ends.
 *
 *   TENURE_DISK_FOLDER     files below this folder are on the disk; needed
 *   TENURE_DISK_REPORT     where to write one line about what happened; needed
 *   TENURE_DISK_OFF_AT=n   the power goes at the n-th flush or the first after it that has something to write, before it
 *                          happens
 *   TENURE_DISK_ERROR_AT=n the n-th flush fails with EIO, as Linux fails it: what was not written stays unwritten, and
 *                          the next flush says that all is well. The power goes when the process ends.
 *   TENURE_DISK_LIES=1     every flush says that all is well and writes nothing, as with `synchronous=OFF`
 *   TENURE_DISK_KEEPS=seed some of what was not flushed reaches the disk all the same, in any order and torn
 *
 * A new file or folder is on the disk once its parent was flushed. Files of shared memory (-shm) are not on the disk:
 * whoever opens the store first makes them anew. System calls are made directly, so that nothing here calls itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How the process ends when the power goes. */
#define POWER_IS_OFF 99
/* What a disk writes as a whole. */
#define SECTOR 512

struct range { off_t from, to; };

struct file {
    dev_t device;
    ino_t inode;
    int fd;        /* our own; never closed, because that would drop the process's locks on the file */
    char *image;   /* what the disk holds */
    off_t size;
    struct range *dirty;
    size_t ranges, room;
    int kept;      /* it was flushed once: a log that never is loses nothing that anybody relied on */
    struct file *next;
};

struct creation {
    char path[4096];
    dev_t device;  /* of the parent */
    ino_t inode;
    struct creation *next; /* the one before */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file *files;
static struct creation *creations;
static const char *folder, *report;
static long flushes, off_at, error_at, lies;
static uint64_t keeps;
static int failed;
static long lost;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
    folder = getenv("TENURE_DISK_FOLDER");
    report = getenv("TENURE_DISK_REPORT");
    off_at = number("TENURE_DISK_OFF_AT");
    error_at = number("TENURE_DISK_ERROR_AT");
    lies = number("TENURE_DISK_LIES");
    keeps = (uint64_t)number("TENURE_DISK_KEEPS");
}

static void say(const char *what) {
    char line[200];
    int length = snprintf(line, sizeof line, "%s at flush %ld, %ld bytes lost\n", what, flushes, lost);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_write, fd, line, length) != length) abort();
    syscall(SYS_close, fd);
}

static uint64_t draw(uint64_t below) {
    keeps ^= keeps >> 12;
    keeps ^= keeps << 25;
    keeps ^= keeps >> 27;
    return (keeps * 0x2545f4914f6cdd1dULL >> 33) % below;
}

static void *roomier(void *old, size_t bytes) {
    void *found = realloc(old, bytes);
    if (!found) abort();
    return found;
}

/* The file behind a descriptor, if it is one of ours. */
static struct file *file_of(int fd) {
    struct stat found;
    if (!files || fstat(fd, &found) != 0) return NULL;
    for (struct file *file = files; file; file = file->next)
        if (file->device == found.st_dev && file->inode == found.st_ino) return file;
    return NULL;
}

/* What is in a file beyond `size` reads as nothing. */
static void resize_image(struct file *file, off_t size) {
    file->image = roomier(file->image, (size_t)size + 1);
    if (size > file->size) memset(file->image + file->size, 0, (size_t)(size - file->size));
    file->size = size;
}

/* Lets a part of a file reach the disk. */
static void write_through(struct file *file, struct range range) {
    struct stat now;
    if (fstat(file->fd, &now) != 0) abort();
    if (range.to > now.st_size) range.to = now.st_size;
    if (range.to > file->size) resize_image(file, range.to);
    while (range.from < range.to) {
        ssize_t count = pread(file->fd, file->image + range.from, (size_t)(range.to - range.from), range.from);
        if (count <= 0) abort();
        range.from += count;
    }
}

static void flush(struct file *file) {
    struct stat now;
    for (size_t i = 0; i < file->ranges; i++) write_through(file, file->dirty[i]);
    if (fstat(file->fd, &now) != 0) abort();
    resize_image(file, now.st_size);
    file->ranges = 0;
}

static void changed(struct file *file, off_t from, off_t to) {
    if (file->ranges == file->room) {
        file->room = file->room * 2 + 16;
        file->dirty = roomier(file->dirty, file->room * sizeof *file->dirty);
    }
    file->dirty[file->ranges++] = (struct range){from, to};
}

/* Whether a file that was flushed before holds anything that the disk does not. */
static int something_at_stake(void) {
    for (struct file *file = files; file; file = file->next)
        if (file->kept && file->ranges) return 1;
    return 0;
}

/* Some of what was not flushed reaches the disk: each write or not, and if so perhaps a part of it. */
static void keep_some(struct file *file) {
    for (size_t i = 0; i < file->ranges; i++) {
        struct range range = file->dirty[i];
        off_t sectors = (range.to - range.from) / SECTOR;
        if (draw(2)) continue;
        if (sectors > 1 && draw(2)) range.to = range.from + (off_t)draw((uint64_t)sectors) * SECTOR;
        write_through(file, range);
    }
}

/* Puts every file and folder back to what the disk holds. */
static void put_back(void) {
    for (struct file *file = files; file; file = file->next) {
        for (size_t i = 0; i < file->ranges && file->kept; i++)
            lost += (long)(file->dirty[i].to - file->dirty[i].from);
        if (keeps) keep_some(file);
        if (syscall(SYS_ftruncate, file->fd, file->size) != 0) abort();
        for (off_t at = 0; at < file->size;) {
            long count = syscall(SYS_pwrite64, file->fd, file->image + at, file->size - at, at);
            if (count <= 0) abort();
            at += count;
        }
    }
    for (struct creation *made = creations; made; made = made->next) {
        char aside[sizeof made->path + 20];
        if (keeps && draw(2)) continue;
        snprintf(aside, sizeof aside, "%s.never-there", made->path);
        rename(made->path, aside);
    }
}

/* The process ended by itself after a flush had failed: what it only believed to be written shows now. */
__attribute__((destructor)) static void end(void) {
    if (!failed) return;
    pthread_mutex_lock(&lock);
    put_back();
    say("ended");
}

static int is_ours(const char *path) {
    size_t length = folder ? strlen(folder) : 0;
    size_t whole = strlen(path);
    if (!length || strncmp(path, folder, length) != 0 || path[length] != '/') return 0;
    return whole < 4 || strcmp(path + whole - 4, "-shm") != 0;
}

/* Remembers a file as it is now: if it was there before, it is on the disk. */
static void remember(int fd, const char *path) {
    struct stat now;
    struct file *file;
    if (file_of(fd) || fstat(fd, &now) != 0 || !S_ISREG(now.st_mode)) return;
    file = calloc(1, sizeof *file);
    if (!file) abort();
    file->device = now.st_dev;
    file->inode = now.st_ino;
    file->fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (file->fd < 0) abort();
    write_through(file, (struct range){0, now.st_size});
    file->next = files;
    files = file;
}

static void made(const char *path) {
    char parent[4096];
    struct stat above;
    struct creation *creation = calloc(1, sizeof *creation);
    if (!creation || strlen(path) >= sizeof parent) abort();
    strcpy(creation->path, path);
    strcpy(parent, path);
    *strrchr(parent, '/') = 0;
    if (stat(parent, &above) != 0) abort();
    creation->device = above.st_dev;
    creation->inode = above.st_ino;
    creation->next = creations;
    creations = creation;
}

static int opened(int at, const char *path, int flags, mode_t mode) {
    struct stat before;
    int ours = is_ours(path), was_there, fd;
    if (!ours) return (int)syscall(SYS_openat, at, path, flags, mode);
    pthread_mutex_lock(&lock);
    was_there = lstat(path, &before) == 0;
    fd = (int)syscall(SYS_openat, at, path, flags & ~O_TRUNC, mode);
    if (fd >= 0) {
        int error = errno;
        if (!was_there) made(path);
        remember(fd, path);
        errno = error;
    }
    pthread_mutex_unlock(&lock);
    if (fd >= 0 && flags & O_TRUNC && (flags & O_ACCMODE) != O_RDONLY) ftruncate(fd, 0);
    return fd;
}

static long written(int fd, const void *bytes, size_t count, off_t at) {
    struct file *file;
    long done;
    pthread_mutex_lock(&lock);
    file = file_of(fd);
    if (!file) {
        /* It may have to wait for a reader: not under the lock. */
        pthread_mutex_unlock(&lock);
        return at < 0 ? syscall(SYS_write, fd, bytes, count) : syscall(SYS_pwrite64, fd, bytes, count, at);
    }
    if (at < 0) {
        int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
        off_t place = lseek(fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
        done = syscall(SYS_write, fd, bytes, count);
        at = place;
    } else {
        done = syscall(SYS_pwrite64, fd, bytes, count, at);
    }
    if (done > 0) changed(file, at, at + done);
    pthread_mutex_unlock(&lock);
    return done;
}

static int cut(int fd, off_t size) {
    struct file *file;
    struct stat before;
    int done;
    pthread_mutex_lock(&lock);
    file = file_of(fd);
    if (file && fstat(fd, &before) != 0) abort();
    done = (int)syscall(SYS_ftruncate, fd, size);
    if (file && done == 0 && before.st_size > size) changed(file, size, before.st_size);
    pthread_mutex_unlock(&lock);
    return done;
}

/* What was made in a folder is there for good once the folder is flushed. */
static void flush_folder(const struct stat *flushed) {
    struct creation **at = &creations;
    while (*at) {
        struct creation *creation = *at;
        if (creation->device == flushed->st_dev && creation->inode == flushed->st_ino && !lies) {
            *at = creation->next;
            free(creation);
        } else {
            at = &creation->next;
        }
    }
}

static int flushed(int fd, long call) {
    struct stat found;
    struct file *file;
    int done = 0;
    pthread_mutex_lock(&lock);
    file = file_of(fd);
    if (file) {
        flushes++;
        file->kept = 1;
        if (off_at && flushes >= off_at && something_at_stake()) {
            put_back();
            say("off");
            _exit(POWER_IS_OFF);
        }
        if (flushes == error_at) {
            say("error");
            failed = 1;
            file->ranges = 0;
            errno = EIO;
            done = -1;
        } else if (!lies) {
            flush(file);
        }
    } else if (fstat(fd, &found) == 0 && S_ISDIR(found.st_mode)) {
        flush_folder(&found);
    } else {
        done = (int)syscall(call, fd);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list more;
        va_start(more, flags);
        mode = (mode_t)va_arg(more, int);
        va_end(more);
    }
    return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list more;
        va_start(more, flags);
        mode = (mode_t)va_arg(more, int);
        va_end(more);
    }
    return opened(AT_FDCWD, path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
    int done;
    pthread_mutex_lock(&lock);
    done = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (done == 0 && is_ours(path)) made(path);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t write(int fd, const void *bytes, size_t count) { return written(fd, bytes, count, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return written(fd, bytes, count, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at) { return written(fd, bytes, count, at); }
int ftruncate(int fd, off_t size) { return cut(fd, size); }
int ftruncate64(int fd, off_t size) { return cut(fd, size); }
int fsync(int fd) { return flushed(fd, SYS_fsync); }
int fdatasync(int fd) { return flushed(fd, SYS_fdatasync); }
