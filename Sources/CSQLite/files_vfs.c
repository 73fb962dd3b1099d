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
//
// A file that gives space back becomes shorter than a mapping that was made before, and to look behind its end there ends
// the process. That was seen in a writer that took a page for a new table while another process compacted. SQLite
// takes a page that the file has not for one of zeros. So
//
//   - a mapping that is longer than the file goes when a connection begins to read another state of it. While it
//     reads that, a checkpoint can cut the file to the size of this state at most.
//   - A connection that writes is told of the file only what belongs to the state that it changes: the log's index has
//     the number of its pages. All other pages are its own, and not in the file yet.

#include "files_vfs.h"

#include "creadahead.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Behind what the default file system keeps of a file. The file's methods are those here, with five of its own.
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
    // At least as long as the mapping that `fetch` has made, as far as is known; 0 where that has made none.
    sqlite3_int64 mapped;
    // Which pages were read last.
    divan_read_ahead ahead;
    // Where the part of the file ends that belongs to the state which a writer changes.
    sqlite3_int64 end;
    // Whether the connection has ever written. Its own commits are no other state to SQLite.
    int has_written;
    // Its log, while that is open.
    sqlite3_file *log;
} mapping;

// Of the log's index and its locks, as SQLite's description of the format has them: the index begins with two copies of
// its header.
enum {
    WRITE_LOCK = 0,
    INDEX_REGION = 32768,
    INDEX_HEADER = 48,
    IS_MADE_AT = 12,
    PAGE_SIZE_AT = 14,
    PAGE_COUNT_AT = 20
};
#define NO_END 0x7fffffffffffffffLL

static sqlite3_vfs *real;

static mapping *mapping_of(sqlite3_file *file) {
    return (mapping *)((char *)file->pMethods - offsetof(mapping, methods));
}

static int unmap(sqlite3_file *file, mapping *own) {
    own->is_short = 0;
    own->mapped = 0;
    own->ahead = (divan_read_ahead){0};
    return own->real->xUnfetch(file, 0, NULL);
}

static int has_page(sqlite3_file *file, mapping *own, sqlite3_int64 end) {
    sqlite3_int64 size = 0;
    if (end > own->limit || own->missing++ % 64) return 0;
    return own->real->xFileSize(file, &size) == SQLITE_OK && end <= size;
}

// 0 where it is not known.
static sqlite3_int64 size_of(sqlite3_file *file, mapping *own) {
    sqlite3_int64 size = 0;
    return own->real->xFileSize(file, &size) == SQLITE_OK ? size : 0;
}

static int is_cut(sqlite3_file *file, mapping *own) {
    return own->mapped > 0 && size_of(file, own) < own->mapped;
}

// Maps the file, if it is not mapped.
static int fetch_mapping(sqlite3_file *file, mapping *own, sqlite3_int64 offset, int amount, void **found) {
    if (own->mapped) return own->real->xFetch(file, offset, amount, found);
    // It is mapped between the two.
    sqlite3_int64 before = size_of(file, own);
    int code = own->real->xFetch(file, offset, amount, found);
    sqlite3_int64 after = size_of(file, own);
    own->mapped = before > after ? before : after;
    return code;
}

static int fetch(sqlite3_file *file, sqlite3_int64 offset, int amount, void **found) {
    mapping *own = mapping_of(file);
    *found = NULL;
    if (offset + amount > own->end) return SQLITE_OK;
    int code = fetch_mapping(file, own, offset, amount, found);
    if (code == SQLITE_OK && !*found && (own->is_short || has_page(file, own, offset + amount))) {
        own->is_short = 1;
        // Pages that are looked at are in the mapping that would go.
        if (own->count == 0 && (code = unmap(file, own)) == SQLITE_OK)
            code = fetch_mapping(file, own, offset, amount, found);
    }
    if (*found) {
        own->count++;
        divan_read_ahead_at(&own->ahead, *found, (uintptr_t)*found - (uintptr_t)offset + (uintptr_t)own->mapped);
    }
    return code;
}

static int unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
    mapping *own = mapping_of(file);
    if (!page) {
        own->missing = 0;
        return own->is_short || is_cut(file, own) ? unmap(file, own) : SQLITE_OK;
    }
    own->count--;
    return own->real->xUnfetch(file, offset, page);
}

static int read_file(sqlite3_file *file, void *bytes, int amount, sqlite3_int64 offset) {
    mapping *own = mapping_of(file);
    if (offset + amount <= own->end) return own->real->xRead(file, bytes, amount, offset);
    memset(bytes, 0, (size_t)amount);
    return SQLITE_IOERR_SHORT_READ;
}

// Where the part of the file ends that belongs to the newest state; the caller holds the lock that writers take.
static sqlite3_int64 end_of_state(sqlite3_file *file, mapping *own) {
    sqlite3_int64 size = size_of(file, own);
    void volatile *index = NULL;
    if (own->real->xShmMap(file, 0, INDEX_REGION, 0, &index) != SQLITE_OK || !index) return size;
    char header[2 * INDEX_HEADER];
    memcpy(header, (const char *)index, sizeof header);
    // Copies that differ, or are none yet, are made anew under the lock, from a log of any length.
    if (memcmp(header, header + INDEX_HEADER, INDEX_HEADER) != 0 || !header[IS_MADE_AT]) return NO_END;
    uint16_t page_size;
    uint32_t count;
    memcpy(&page_size, header + PAGE_SIZE_AT, sizeof page_size);
    memcpy(&count, header + PAGE_COUNT_AT, sizeof count);
    // The largest size does not fit, and stands there as 1. A log without a commit has no count.
    sqlite3_int64 end = (sqlite3_int64)count * (page_size == 1 ? 65536 : page_size);
    return end > 0 && end < size ? end : size;
}

static int shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    mapping *own = mapping_of(file);
    int code = own->real->xShmLock(file, offset, count, flags);
    // SQLite goes on where a lock could not be given back.
    if (offset == WRITE_LOCK && !(flags & SQLITE_SHM_LOCK)) {
        own->end = NO_END;
        if (own->log) divan_log_end_writing(own->log);
    }
    if (code != SQLITE_OK) return code;
    if (offset != WRITE_LOCK) {
        int begins = flags & SQLITE_SHM_LOCK && flags & SQLITE_SHM_SHARED;
        if (begins && own->has_written && own->count == 0 && is_cut(file, own)) return unmap(file, own);
    } else if (flags & SQLITE_SHM_LOCK) {
        own->has_written = 1;
        own->end = end_of_state(file, own);
    }
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    mapping *own = mapping_of(file);
    int code = own->real->xFileControl(file, operation, argument);
    if (operation == SQLITE_FCNTL_MMAP_SIZE && code == SQLITE_OK) {
        // It has told the limit before.
        own->limit = -1;
        code = own->real->xFileControl(file, operation, &own->limit);
    }
    // Where there is a mapping, the default file system makes it anew itself then: of whatever the file has, or of so many
    // bytes, to which it lengthens the file.
    if (operation == SQLITE_FCNTL_MMAP_SIZE && own->mapped) own->mapped = NO_END;
    if (operation == SQLITE_FCNTL_SIZE_HINT && *(sqlite3_int64 *)argument > own->mapped)
        own->mapped = *(sqlite3_int64 *)argument;
    return code;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    (void)vfs;
    int code = real->xOpen(real, name, file, flags, out);
    if (code != SQLITE_OK) return code;
    void *room = (char *)file + real->szOsFile;
    if (flags & SQLITE_OPEN_WAL) {
        sqlite3_file *database = sqlite3_database_file_object(name);
        if (database->pMethods->xShmLock == shm_lock) divan_log_open(file, room, &mapping_of(database)->log);
    }
    if (!(flags & SQLITE_OPEN_MAIN_DB) || file->pMethods->iVersion < 3) return SQLITE_OK;
    mapping *own = room;
    *own = (mapping){.methods = *file->pMethods, .real = file->pMethods, .end = NO_END};
    own->methods.xRead = read_file;
    own->methods.xShmLock = shm_lock;
    own->methods.xFetch = fetch;
    own->methods.xUnfetch = unfetch;
    own->methods.xFileControl = file_control;
    file->pMethods = &own->methods;
    return SQLITE_OK;
}

static sqlite3_vfs files;

static void register_files(void) {
    sqlite3_vfs *found = sqlite3_vfs_find(NULL);
    // Another default may find itself by the file system that it is called with.
    if (!found || strcmp(found->zName, "unix") != 0 || found->szOsFile % (int)_Alignof(mapping) != 0) return;
    real = found;
    files = *real;
    files.zName = DIVAN_SQLITE3_FILES_VFS;
    files.szOsFile += (int)sizeof(mapping) > divan_log_size ? (int)sizeof(mapping) : divan_log_size;
    files.pNext = NULL;
    files.xOpen = open_file;
    if (sqlite3_vfs_register(&files, 0) != SQLITE_OK) files.zName = NULL;
}

const char *divan_sqlite3_files_vfs(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (!files.zName) register_files();
    // Tests put one that fails in the place of the default for a while.
    const char *name = files.zName && sqlite3_vfs_find(NULL) == real ? files.zName : NULL;
    pthread_mutex_unlock(&mutex);
    return name;
}
