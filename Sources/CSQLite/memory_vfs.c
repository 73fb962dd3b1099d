// SPDX-License-Identifier: Apache-2.0
//
// A file system in memory for SQLite, on which write-ahead-log mode works.
//
// SQLite's own databases in memory know no log: there a commit fails while a connection reads. This one
// keeps the files of a database in memory, with the shared memory and the locks that the log needs,
// so that one writer and many readers in one process work exactly as they do on disk.
//
// A database lives until its last connection closes it; a journal or log until it is deleted, which
// SQLite does after closing it, or until its database goes. Every file has one mutex, for its bytes, its locks and its shared memory; the list of files has another,
// taken before a file's.

#include "csqlite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { lock_slots = 8, region_limit = 4096 };

typedef struct memory_node {
    struct memory_node *next;
    char *name;
    int references;
    int is_database;
    pthread_mutex_t mutex;

    unsigned char *bytes;
    sqlite3_int64 size;
    sqlite3_int64 capacity;

    // Connections that hold SHARED or more, and whether one holds RESERVED, PENDING or EXCLUSIVE.
    int shared;
    int highest;

    // The log's index: regions that stay where they are, and the holders of each lock. A count of -1
    // is an exclusive holder.
    void *regions[region_limit];
    int slots[lock_slots];
} memory_node;

typedef struct memory_file {
    sqlite3_file base;
    memory_node *node;
    int level;
    unsigned shared_slots;
    unsigned exclusive_slots;
} memory_file;

static pthread_mutex_t nodes_mutex = PTHREAD_MUTEX_INITIALIZER;
static memory_node *nodes;

// MARK: Nodes

static memory_node *find_node(const char *name) {
    memory_node *node = nodes;
    while (node && (!node->name || strcmp(node->name, name) != 0)) {
        node = node->next;
    }
    return node;
}

static void unlink_node(memory_node *gone) {
    memory_node **link = &nodes;
    while (*link && *link != gone) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = gone->next;
    }
}

static void free_node(memory_node *node) {
    for (int i = 0; i < region_limit && node->regions[i]; i++) {
        free(node->regions[i]);
    }
    pthread_mutex_destroy(&node->mutex);
    free(node->bytes);
    free(node->name);
    free(node);
}

// Called with the list's mutex.
static memory_node *make_node(const char *name) {
    memory_node *node = calloc(1, sizeof *node);
    if (!node) {
        return NULL;
    }
    node->name = name ? strdup(name) : NULL;
    pthread_mutex_init(&node->mutex, NULL);
    node->next = nodes;
    nodes = node;
    return node;
}

// Called with the list's mutex. Frees the journals that a database leaves behind.
static void free_companions(const memory_node *database) {
    size_t length = database->name ? strlen(database->name) : 0;
    memory_node *node = nodes;
    while (length > 0 && node) {
        memory_node *next = node->next;
        int is_companion = node->name && node->references == 0
            && strncmp(node->name, database->name, length) == 0 && node->name[length] == '-';
        if (is_companion) {
            unlink_node(node);
            free_node(node);
        }
        node = next;
    }
}

static void release_node(memory_node *node) {
    pthread_mutex_lock(&nodes_mutex);
    if (--node->references == 0 && (node->is_database || !node->name)) {
        unlink_node(node);
        free_companions(node);
        free_node(node);
    }
    pthread_mutex_unlock(&nodes_mutex);
}

// MARK: Bytes

static int memory_read(sqlite3_file *file, void *target, int count, sqlite3_int64 offset) {
    memory_node *node = ((memory_file *)file)->node;
    pthread_mutex_lock(&node->mutex);
    sqlite3_int64 available = node->size > offset ? node->size - offset : 0;
    int copied = available < count ? (int)available : count;
    if (copied > 0) {
        memcpy(target, node->bytes + offset, (size_t)copied);
    }
    pthread_mutex_unlock(&node->mutex);
    if (copied == count) {
        return SQLITE_OK;
    }
    memset((char *)target + copied, 0, (size_t)(count - copied));
    return SQLITE_IOERR_SHORT_READ;
}

// Called with the node's mutex. Grows by a quarter, so that appending costs a constant time a byte.
static int reserve(memory_node *node, sqlite3_int64 size) {
    if (size <= node->capacity) {
        return 1;
    }
    sqlite3_int64 capacity = size + size / 4 + 65536;
    unsigned char *bytes = realloc(node->bytes, (size_t)capacity);
    if (!bytes) {
        return 0;
    }
    node->bytes = bytes;
    node->capacity = capacity;
    return 1;
}

static int memory_write(sqlite3_file *file, const void *source, int count, sqlite3_int64 offset) {
    memory_node *node = ((memory_file *)file)->node;
    pthread_mutex_lock(&node->mutex);
    int fits = reserve(node, offset + count);
    if (fits) {
        if (offset > node->size) {
            memset(node->bytes + node->size, 0, (size_t)(offset - node->size));
        }
        memcpy(node->bytes + offset, source, (size_t)count);
        if (offset + count > node->size) {
            node->size = offset + count;
        }
    }
    pthread_mutex_unlock(&node->mutex);
    return fits ? SQLITE_OK : SQLITE_FULL;
}

static int memory_truncate(sqlite3_file *file, sqlite3_int64 size) {
    memory_node *node = ((memory_file *)file)->node;
    pthread_mutex_lock(&node->mutex);
    if (size < node->size) {
        node->size = size;
        unsigned char *bytes = realloc(node->bytes, (size_t)size + 1);
        if (bytes) {
            node->bytes = bytes;
            node->capacity = size + 1;
        }
    }
    pthread_mutex_unlock(&node->mutex);
    return SQLITE_OK;
}

static int memory_sync(sqlite3_file *file, int flags) {
    (void)file, (void)flags;
    return SQLITE_OK;
}

static int memory_file_size(sqlite3_file *file, sqlite3_int64 *size) {
    memory_node *node = ((memory_file *)file)->node;
    pthread_mutex_lock(&node->mutex);
    *size = node->size;
    pthread_mutex_unlock(&node->mutex);
    return SQLITE_OK;
}

// MARK: Locks of the file

static int memory_lock(sqlite3_file *base, int level) {
    memory_file *file = (memory_file *)base;
    memory_node *node = file->node;
    int result = SQLITE_OK;
    pthread_mutex_lock(&node->mutex);
    if (file->level < level) {
        int mine = file->level >= SQLITE_LOCK_RESERVED;
        int others = node->highest > SQLITE_LOCK_SHARED && !mine;
        if (level == SQLITE_LOCK_SHARED) {
            if (node->highest >= SQLITE_LOCK_PENDING) {
                result = SQLITE_BUSY;
            } else {
                node->shared++;
            }
        } else if (others) {
            result = SQLITE_BUSY;
        } else if (level == SQLITE_LOCK_EXCLUSIVE && node->shared > 1) {
            node->highest = SQLITE_LOCK_PENDING;
            file->level = SQLITE_LOCK_PENDING;
            result = SQLITE_BUSY;
        } else {
            node->highest = level;
        }
        if (result == SQLITE_OK) {
            file->level = level;
        }
    }
    pthread_mutex_unlock(&node->mutex);
    return result;
}

static int memory_unlock(sqlite3_file *base, int level) {
    memory_file *file = (memory_file *)base;
    memory_node *node = file->node;
    pthread_mutex_lock(&node->mutex);
    if (file->level > level) {
        if (file->level > SQLITE_LOCK_SHARED) {
            node->highest = SQLITE_LOCK_NONE;
        }
        if (level == SQLITE_LOCK_NONE) {
            node->shared--;
        }
        file->level = level;
    }
    pthread_mutex_unlock(&node->mutex);
    return SQLITE_OK;
}

static int memory_check_reserved_lock(sqlite3_file *base, int *is_reserved) {
    memory_node *node = ((memory_file *)base)->node;
    pthread_mutex_lock(&node->mutex);
    *is_reserved = node->highest > SQLITE_LOCK_SHARED;
    pthread_mutex_unlock(&node->mutex);
    return SQLITE_OK;
}

// MARK: Shared memory

static int memory_shm_map(
    sqlite3_file *base, int index, int size, int extends, void volatile **region) {
    memory_node *node = ((memory_file *)base)->node;
    int result = SQLITE_OK;
    if (index >= region_limit) {
        return SQLITE_FULL;
    }
    pthread_mutex_lock(&node->mutex);
    if (!node->regions[index] && extends) {
        node->regions[index] = calloc(1, (size_t)size);
        result = node->regions[index] ? SQLITE_OK : SQLITE_NOMEM;
    }
    *region = node->regions[index];
    pthread_mutex_unlock(&node->mutex);
    return result;
}

static int is_free(const memory_file *file, int first, int count, int exclusively) {
    for (int i = first; i < first + count; i++) {
        int mine = (file->shared_slots >> i) & 1;
        int holders = file->node->slots[i];
        if (holders < 0 || (exclusively && holders > mine)) {
            return 0;
        }
    }
    return 1;
}

static int memory_shm_lock(sqlite3_file *base, int first, int count, int flags) {
    memory_file *file = (memory_file *)base;
    memory_node *node = file->node;
    unsigned mask = ((1u << count) - 1) << first;
    int exclusively = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    int result = SQLITE_OK;
    pthread_mutex_lock(&node->mutex);
    if (flags & SQLITE_SHM_UNLOCK) {
        for (int i = first; i < first + count; i++) {
            if ((file->exclusive_slots >> i) & 1) {
                node->slots[i] = 0;
            } else if ((file->shared_slots >> i) & 1) {
                node->slots[i]--;
            }
        }
        file->exclusive_slots &= ~mask;
        file->shared_slots &= ~mask;
    } else if (!is_free(file, first, count, exclusively)) {
        result = SQLITE_BUSY;
    } else if (exclusively) {
        for (int i = first; i < first + count; i++) {
            node->slots[i] = -1;
        }
        file->exclusive_slots |= mask;
    } else if (!(file->shared_slots & mask)) {
        node->slots[first]++;
        file->shared_slots |= mask;
    }
    pthread_mutex_unlock(&node->mutex);
    return result;
}

static void memory_shm_barrier(sqlite3_file *base) {
    (void)base;
    __sync_synchronize();
}

static int memory_shm_unmap(sqlite3_file *base, int deletes) {
    (void)deletes;
    return memory_shm_lock(base, 0, lock_slots, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED);
}

// MARK: Files

static int memory_close(sqlite3_file *base) {
    memory_unlock(base, SQLITE_LOCK_NONE);
    release_node(((memory_file *)base)->node);
    return SQLITE_OK;
}

static int memory_file_control(sqlite3_file *base, int operation, void *argument) {
    (void)base, (void)operation, (void)argument;
    return SQLITE_NOTFOUND;
}

static int memory_sector_size(sqlite3_file *base) {
    (void)base;
    return 4096;
}

static int memory_characteristics(sqlite3_file *base) {
    (void)base;
    return SQLITE_IOCAP_ATOMIC | SQLITE_IOCAP_POWERSAFE_OVERWRITE | SQLITE_IOCAP_SAFE_APPEND
        | SQLITE_IOCAP_SEQUENTIAL;
}

static const sqlite3_io_methods memory_methods = {
    .iVersion = 2,
    .xClose = memory_close,
    .xRead = memory_read,
    .xWrite = memory_write,
    .xTruncate = memory_truncate,
    .xSync = memory_sync,
    .xFileSize = memory_file_size,
    .xLock = memory_lock,
    .xUnlock = memory_unlock,
    .xCheckReservedLock = memory_check_reserved_lock,
    .xFileControl = memory_file_control,
    .xSectorSize = memory_sector_size,
    .xDeviceCharacteristics = memory_characteristics,
    .xShmMap = memory_shm_map,
    .xShmLock = memory_shm_lock,
    .xShmBarrier = memory_shm_barrier,
    .xShmUnmap = memory_shm_unmap,
};

static int memory_open(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out_flags) {
    (void)vfs;
    memory_file *file = (memory_file *)base;
    memset(file, 0, sizeof *file);
    pthread_mutex_lock(&nodes_mutex);
    memory_node *node = name ? find_node(name) : NULL;
    if (!node && (flags & SQLITE_OPEN_CREATE)) {
        node = make_node(name);
        if (node) {
            node->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
        }
    }
    if (node) {
        node->references++;
    }
    pthread_mutex_unlock(&nodes_mutex);
    if (!node) {
        return SQLITE_CANTOPEN;
    }
    file->node = node;
    file->base.pMethods = &memory_methods;
    if (out_flags) {
        *out_flags = flags;
    }
    return SQLITE_OK;
}

static int memory_delete(sqlite3_vfs *vfs, const char *name, int syncs) {
    (void)vfs, (void)syncs;
    pthread_mutex_lock(&nodes_mutex);
    memory_node *node = find_node(name);
    int is_found = node != NULL;
    if (node && node->references == 0) {
        unlink_node(node);
        free_node(node);
    } else if (node) {
        // The connections that have the file open keep it, without a name.
        free(node->name);
        node->name = NULL;
    }
    pthread_mutex_unlock(&nodes_mutex);
    return is_found ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
}

static int memory_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    (void)vfs, (void)flags;
    pthread_mutex_lock(&nodes_mutex);
    *result = find_node(name) != NULL;
    pthread_mutex_unlock(&nodes_mutex);
    return SQLITE_OK;
}

static int memory_full_pathname(sqlite3_vfs *vfs, const char *name, int size, char *full) {
    (void)vfs;
    sqlite3_snprintf(size, full, "%s", name);
    return SQLITE_OK;
}

static sqlite3_vfs memory_vfs;

int divan_sqlite3_memory_vfs_register(void) {
    // The rest, such as the clock and randomness, is the default file system's.
    sqlite3_vfs *standard = sqlite3_vfs_find(NULL);
    if (!standard) {
        return SQLITE_ERROR;
    }
    pthread_mutex_lock(&nodes_mutex);
    if (!memory_vfs.zName) {
        memory_vfs = *standard;
        memory_vfs.iVersion = standard->iVersion < 2 ? standard->iVersion : 2;
        memory_vfs.szOsFile = sizeof(memory_file);
        memory_vfs.zName = "divan-memory";
        memory_vfs.pNext = NULL;
        memory_vfs.xOpen = memory_open;
        memory_vfs.xDelete = memory_delete;
        memory_vfs.xAccess = memory_access;
        memory_vfs.xFullPathname = memory_full_pathname;
    }
    pthread_mutex_unlock(&nodes_mutex);
    return sqlite3_vfs_register(&memory_vfs, 0);
}
