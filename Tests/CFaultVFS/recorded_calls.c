// SPDX-License-Identifier: Apache-2.0
//
// The system's calls by which LMDB changes its file, recorded. A program that links this has them in the
// place of the C library's, for LMDB and for all other code. They do the same, and record what concerns a
// file of LMDB's in the directory that is recorded. (SQLite's files are recorded by its own file system.)

#ifdef __linux__

#include "cfaultvfs.h"
#include "recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

// The number of LMDB's file that a descriptor is open on, or -1.
static int recorded(int descriptor) {
    static const char name[] = "/main.mdb";
    if (!__atomic_load_n(&current_recording.is_on, __ATOMIC_RELAXED)) {
        return -1;
    }
    char link[64], path[2048];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int kept = errno;
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = kept;
    if (length < (ssize_t)sizeof name - 1) {
        return -1;
    }
    path[length] = 0;
    if (strcmp(path + length - (sizeof name - 1), name) != 0) {
        return -1;
    }
    return recorded_file_number(path);
}

// Half of a write, as on a disk without room for the rest.
static ssize_t fail(int descriptor, const void *bytes, size_t size, off_t offset) {
    syscall(SYS_pwrite64, descriptor, bytes, size / 2, offset);
    errno = ENOSPC;
    return -1;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
    int file = recorded(descriptor);
    if (file >= 0 && write_fails_now()) {
        return fail(descriptor, bytes, size, offset);
    }
    ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, size, offset);
    if (file >= 0 && written > 0) {
        record(event_write, file, offset, bytes, (int)written);
    }
    return written;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    int file = recorded(descriptor);
    off_t offset = file >= 0 ? lseek(descriptor, 0, SEEK_CUR) : 0;
    if (file >= 0 && count > 0 && write_fails_now()) {
        return fail(descriptor, parts[0].iov_base, parts[0].iov_len, offset);
    }
    ssize_t written = syscall(SYS_writev, descriptor, parts, count);
    ssize_t left = written;
    for (int i = 0; file >= 0 && i < count && left > 0; i++) {
        ssize_t size = left < (ssize_t)parts[i].iov_len ? left : (ssize_t)parts[i].iov_len;
        record(event_write, file, offset, parts[i].iov_base, (int)size);
        offset += size;
        left -= size;
    }
    return written;
}

int ftruncate(int descriptor, off_t size) {
    int result = (int)syscall(SYS_ftruncate, descriptor, size);
    int file = result == 0 ? recorded(descriptor) : -1;
    if (file >= 0) {
        record(event_truncate, file, size, NULL, 0);
    }
    return result;
}

static int synced(int descriptor, int result) {
    int file = result == 0 ? recorded(descriptor) : -1;
    if (file >= 0) {
        record(event_sync, file, 0, NULL, 0);
    }
    return result;
}

int fdatasync(int descriptor) {
    return synced(descriptor, (int)syscall(SYS_fdatasync, descriptor));
}

int fsync(int descriptor) {
    return synced(descriptor, (int)syscall(SYS_fsync, descriptor));
}

#endif
