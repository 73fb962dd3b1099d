// SPDX-License-Identifier: Apache-2.0
//
// What makes two of one process, each with a disk of its own, as resuming a snapshot of a virtual machine twice does.

#define _GNU_SOURCE

#include "CSpawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int divan_spawn_fork(void) { return fork(); }

#ifdef __linux__

enum { line_size = PATH_MAX + 200 };

int divan_spawn_keep_on_fork(void) {
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[line_size];
    unsigned long start = 0, end = 0;
    int count = 0;
    if (!file) return -1;
    while (fgets(line, sizeof line, file)) {
        unsigned long first, last;
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2) {
            start = first;
            end = last;
        } else if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " wf")) {
            count += madvise((void *)start, end - start, MADV_KEEPONFORK) == 0;
        }
    }
    fclose(file);
    return count;
}

// The file in the other folder; 0 when the path is not below the first one.
static int moved(const char *path, const char *from, const char *to, char *out) {
    size_t length = strlen(from);
    if (strncmp(path, from, length) != 0) return 0;
    return snprintf(out, PATH_MAX, "%s%s", to, path + length) < PATH_MAX;
}

static int move_descriptors(const char *from, const char *to) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return -1;
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[PATH_MAX] = {0}, other[PATH_MAX];
        if (readlinkat(dirfd(folder), entry->d_name, path, sizeof path - 1) < 0) continue;
        if (!moved(path, from, to, other)) continue;
        int old = atoi(entry->d_name);
        int new = open(other, (fcntl(old, F_GETFL) & O_ACCMODE) | O_CLOEXEC);
        failed |= new < 0 || dup3(new, old, O_CLOEXEC) < 0;
        if (new >= 0) close(new);
    }
    closedir(folder);
    return failed ? -1 : 0;
}

static int move_mappings(const char *from, const char *to) {
    FILE *file = fopen("/proc/self/maps", "r");
    char line[line_size];
    int failed = 0;
    if (!file) return -1;
    while (fgets(line, sizeof line, file)) {
        unsigned long first, last, offset;
        char access[5], path[PATH_MAX], other[PATH_MAX];
        if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4095[^\n]", &first, &last, access, &offset, path) != 5) continue;
        if (!moved(path, from, to, other)) continue;
        int new = open(other, access[1] == 'w' ? O_RDWR : O_RDONLY);
        int protection = PROT_READ | (access[1] == 'w' ? PROT_WRITE : 0);
        failed |= new < 0
            || mmap((void *)first, last - first, protection, MAP_SHARED | MAP_FIXED, new, (off_t)offset) == MAP_FAILED;
        if (new >= 0) close(new);
    }
    fclose(file);
    return failed ? -1 : 0;
}

int divan_spawn_move_files(const char *from, const char *to) {
    return move_descriptors(from, to) == 0 ? move_mappings(from, to) : -1;
}

#else

int divan_spawn_keep_on_fork(void) { return -1; }

int divan_spawn_move_files(const char *from, const char *to) {
    (void)from;
    (void)to;
    return -1;
}

#endif
