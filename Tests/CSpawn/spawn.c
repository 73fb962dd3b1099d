// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <spawn.h>

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
