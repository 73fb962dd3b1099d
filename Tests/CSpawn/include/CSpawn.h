// SPDX-License-Identifier: Apache-2.0

#ifndef DIVAN_CSPAWN_H
#define DIVAN_CSPAWN_H

// What a child process of the tests needs and glibc declares for programs with GNU extensions only. The actions
// are a `posix_spawn_file_actions_t *`; the results are those of the functions of the system.

/// Has the child begin in a folder.
int divan_spawn_change_directory(void *actions, const char *folder);

/// Closes the descriptors from a number on in the child; does nothing where `posix_spawn` has a flag for that.
int divan_spawn_close_from(void *actions, int first);

/// Lets this process have so many descriptors at most; 0 if that is so now.
int divan_spawn_limit_descriptors(int most);

/// How many bytes this process has allocated and not given back; 0 where the system does not tell.
long divan_spawn_allocated_bytes(void);

#endif
