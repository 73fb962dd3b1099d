// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the file system in files_vfs.c have of each other.

#ifndef DIVAN_FILES_VFS_H
#define DIVAN_FILES_VFS_H

#include "csqlite.h"

// The room that a log needs behind what the default file system keeps of it.
extern const int divan_log_size;

// Makes an opened file a log whose frames are written at once; `room` is that behind it. `place` has the file until it is
// closed.
void divan_log_open(sqlite3_file *file, void *room, sqlite3_file **place);

// Tells a log that its connection has given back the lock that writers take.
void divan_log_end_writing(sqlite3_file *file);

#endif
