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

/// Makes a child that is a copy of this process; 0 in the child. Only the thread that calls it goes on there.
int divan_spawn_fork(void);

/// Has no memory wiped in children from now on, so that a fork passes as unnoticed as the copy of a virtual machine;
/// how many pieces of memory were to be wiped, or less than 0 where the system does not tell.
int divan_spawn_keep_on_fork(void);

/// Replaces open and mapped files below one folder by those of the same names below another; 0 if that succeeds.
int divan_spawn_move_files(const char *from, const char *to);

#endif
