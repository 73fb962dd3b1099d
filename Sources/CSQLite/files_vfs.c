// SPDX-License-Identifier: Apache-2.0
//
// The default file system, but for the mapping of a database file, which stays, and for the frames of a log, which are
// written at once (log_frames.c).
//
// A connection that begins to read after another one has committed tells its file system to unmap the file, and maps it
// anew with the first page that it looks at: the file may have grown. In a process that writes and reads in turn, each
// read so unmaps, maps and faults in again what it has looked at before: a quarter to a third of the CPU of both.
//
// The mapping is shared with the system, so it shows what is written into the file, and a page is only looked at by a
// connection that knows how many there are. So the mapping is kept, and made anew when a page behind its end is wanted
// and the file has that page. A transaction that adds pages asks for them again and again before any file has them, so
// the size of the file is asked for at the first and then at every 64th such page.

#include "files_vfs.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

// Behind what the default file system keeps of a file. The file's methods are those here, with three of its own.
typedef struct {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *real;
    sqlite3_int64 limit;
    // Pages that SQLite looks at now.
    int count;
    // Whether a page behind the end of the mapping was wanted.
    int is_short;
    // How often a wanted page was not in the mapping since SQLite last looked at a new state of the file.
    unsigned missing;
} mapping;

static sqlite3_vfs *real;

static mapping *mapping_of(sqlite3_file *file) {
    return (mapping *)((char *)file->pMethods - offsetof(mapping, methods));
}

static int unmap(sqlite3_file *file, mapping *own) {
    own->is_short = 0;
    return own->real->xUnfetch(file, 0, NULL);
}

static int has_page(sqlite3_file *file, mapping *own, sqlite3_int64 end) {
    sqlite3_int64 size = 0;
    if (end > own->limit || own->missing++ % 64) return 0;
    return own->real->xFileSize(file, &size) == SQLITE_OK && end <= size;
}

static int fetch(sqlite3_file *file, sqlite3_int64 offset, int amount, void **found) {
    mapping *own = mapping_of(file);
    int code = own->real->xFetch(file, offset, amount, found);
    if (code == SQLITE_OK && !*found && (own->is_short || has_page(file, own, offset + amount))) {
        own->is_short = 1;
        // Pages that are looked at are in the mapping that would go.
        if (own->count == 0 && (code = unmap(file, own)) == SQLITE_OK)
            code = own->real->xFetch(file, offset, amount, found);
    }
    if (*found) own->count++;
    return code;
}

static int unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
    mapping *own = mapping_of(file);
    if (!page) {
        own->missing = 0;
        return own->is_short ? unmap(file, own) : SQLITE_OK;
    }
    own->count--;
    return own->real->xUnfetch(file, offset, page);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    mapping *own = mapping_of(file);
    int code = own->real->xFileControl(file, operation, argument);
    if (operation == SQLITE_FCNTL_MMAP_SIZE && code == SQLITE_OK) {
        // It has told the limit before.
        own->limit = -1;
        code = own->real->xFileControl(file, operation, &own->limit);
    }
    return code;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    (void)vfs;
    int code = real->xOpen(real, name, file, flags, out);
    if (code != SQLITE_OK) return code;
    void *room = (char *)file + real->szOsFile;
    if (flags & SQLITE_OPEN_WAL) divan_log_open(file, room);
    if (!(flags & SQLITE_OPEN_MAIN_DB) || file->pMethods->iVersion < 3) return SQLITE_OK;
    mapping *own = room;
    *own = (mapping){.methods = *file->pMethods, .real = file->pMethods};
    own->methods.xFetch = fetch;
    own->methods.xUnfetch = unfetch;
    own->methods.xFileControl = file_control;
    file->pMethods = &own->methods;
    return SQLITE_OK;
}

static sqlite3_vfs files;

static void register_once(void) {
    real = sqlite3_vfs_find(NULL);
    // Another default may find itself by the file system that it is called with.
    if (!real || strcmp(real->zName, "unix") != 0 || real->szOsFile % (int)_Alignof(mapping) != 0) return;
    files = *real;
    files.zName = DIVAN_SQLITE3_FILES_VFS;
    files.szOsFile += (int)sizeof(mapping) > divan_log_size ? (int)sizeof(mapping) : divan_log_size;
    files.pNext = NULL;
    files.xOpen = open_file;
    if (sqlite3_vfs_register(&files, 0) != SQLITE_OK) files.zName = NULL;
}

const char *divan_sqlite3_files_vfs(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
    // Tests put one that fails in its place.
    return files.zName && sqlite3_vfs_find(NULL) == real ? files.zName : NULL;
}
