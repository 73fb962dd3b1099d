// SPDX-License-Identifier: Apache-2.0
//
// The system's SQLite, and what Swift cannot say to it.

#ifndef DIVAN_CSQLITE_H
#define DIVAN_CSQLITE_H

#include <sqlite3.h>

// Registers the file system "divan-memory": files in memory, shared by the connections of this
// process, on which write-ahead-log mode works. May be called again.
int divan_sqlite3_memory_vfs_register(void);

#endif
