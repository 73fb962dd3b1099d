// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the file system in files_vfs.c have of each other.

#ifndef DIVAN_FILES_VFS_H
#define DIVAN_FILES_VFS_H

#include "csqlite.h"

// The room that a log needs behind what the default file system keeps of it.
extern const int divan_log_size;

// Makes an opened file a log whose frames are written at once; `room` is that behind it.
void divan_log_open(sqlite3_file *file, void *room);

#endif
