// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#ifndef __APPLE__
#include <malloc.h>
#endif
#include <spawn.h>
#include <sys/resource.h>

#include "CSpawn.h"

int divan_spawn_change_directory(void *actions, const char *folder) {
    return posix_spawn_file_actions_addchdir_np(actions, folder);
}

int divan_spawn_close_from(void *actions, int first) {
#ifdef __APPLE__
    (void)actions;
    (void)first;
    return 0;
#else
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
#endif
}

int divan_spawn_limit_descriptors(int most) {
    struct rlimit limit = {(rlim_t)most, (rlim_t)most};
    return setrlimit(RLIMIT_NOFILE, &limit);
}

long divan_spawn_allocated_bytes(void) {
#ifdef __APPLE__
    return 0;
#else
    struct mallinfo2 info = mallinfo2();
    return (long)(info.uordblks + info.hblkhd);
#endif
}
