// SPDX-License-Identifier: Apache-2.0
//
// The system's SQLite, and what Swift cannot say to it.

#ifndef DIVAN_CSQLITE_H
#define DIVAN_CSQLITE_H

#include <sqlite3.h>

// Registers the file system "divan-memory": files in memory, shared by the connections of this
// process, on which write-ahead-log mode works. May be called again.
int divan_sqlite3_memory_vfs_register(void);

#define DIVAN_SQLITE3_FILES_VFS "divan-files"

// The name of a file system that keeps the mapping of a database file, and writes a frame of the log at once; NULL where
// it cannot stand in the place of the default one.
const char *divan_sqlite3_files_vfs(void);

#endif
