// SPDX-License-Identifier: Apache-2.0
//
// Makes the system's writes fail below SQLite's own file system, and so below any that lies over that one.

#include "cfaultvfs.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char directory[PATH_MAX];
static int first, last, failure, seen;

// Whether a descriptor is of a file in the directory.
static int is_inside(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    size_t prefix = strlen(directory);
    return strncmp(path, directory, prefix) == 0 && path[prefix] == '/';
}

static ssize_t failing_write(int descriptor, const void *bytes, size_t count, off_t offset) {
    pthread_mutex_lock(&mutex);
    int number = first > 0 && is_inside(descriptor) ? ++seen : 0;
    int is_short = number > 0 && number == first && count > 1;
    int fails = number > first && number <= last;
    pthread_mutex_unlock(&mutex);
    if (fails) {
        errno = failure;
        return -1;
    }
    return pwrite(descriptor, bytes, is_short ? count / 2 : count, offset);
}

int divan_failing_writes(const char *inside, int number, int count, int error) {
    // One of them is what SQLite was built with.
    const char *names[] = {"pwrite", "pwrite64"};
    sqlite3_vfs *system = sqlite3_vfs_find("unix");
    char path[PATH_MAX] = "";
    if (!system || (number > 0 && !realpath(inside, path))) return -1;
    if (!system->xGetSystemCall(system, names[0]) && !system->xGetSystemCall(system, names[1])) return -1;
    pthread_mutex_lock(&mutex);
    strcpy(directory, path);
    int came = seen >= first && first > 0;
    first = number;
    last = number + count;
    failure = error;
    seen = 0;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 2; i++)
        system->xSetSystemCall(system, names[i], number > 0 ? (sqlite3_syscall_ptr)failing_write : NULL);
    return came;
}
