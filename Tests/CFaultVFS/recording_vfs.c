// SPDX-License-Identifier: Apache-2.0
//
// A file system for SQLite that does what the default one does and records it.

#include "cfaultvfs.h"
#include "recording.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

recording current_recording = {.mutex = PTHREAD_MUTEX_INITIALIZER};

typedef struct {
    sqlite3_file base;
    int file;  // the number of the name in the recording, or -1
    sqlite3_file *real;
} recorded_file;

static sqlite3_vfs *standard;
static sqlite3_vfs recording_vfs;
static sqlite3_io_methods recording_methods;

#define REAL(file) (((recorded_file *)(file))->real)

// MARK: The recording

void record(event_kind kind, int file, int64_t offset, const void *bytes, int size) {
    recording *r = &current_recording;
    pthread_mutex_lock(&r->mutex);
    if (r->is_on && (file >= 0 || kind == event_mark)) {
        if (r->count == r->capacity) {
            r->capacity = r->capacity * 2 + 1024;
            r->events = realloc(r->events, (size_t)r->capacity * sizeof(event));
        }
        event *next = &r->events[r->count++];
        *next = (event){.kind = kind, .file = file, .offset = offset, .size = size};
        if (size > 0) {
            next->bytes = malloc((size_t)size);
            memcpy(next->bytes, bytes, (size_t)size);
        }
    }
    pthread_mutex_unlock(&r->mutex);
}

// The number of a path's file in the recording; -1 for files elsewhere and for the log's index, which
// does not survive anyway.
int recorded_file_number(const char *path) {
    recording *r = &current_recording;
    int number = -1;
    pthread_mutex_lock(&r->mutex);
    size_t length = strlen(r->directory);
    if (r->is_on && path && strncmp(path, r->directory, length) == 0 && path[length] == '/') {
        const char *name = path + length + 1;
        for (number = 0; number < r->file_count; number++) {
            if (strcmp(r->names[number], name) == 0) {
                break;
            }
        }
        if (number == file_limit || strlen(name) >= name_size) {
            number = -1;
        } else if (number == r->file_count) {
            strcpy(r->names[r->file_count++], name);
        }
    }
    pthread_mutex_unlock(&r->mutex);
    return number;
}

void divan_recording_mark(int64_t value) {
    record(event_mark, -1, value, NULL, 0);
}

// MARK: What is recorded

static int writes_until_failure;

int divan_recording_fail_write(int number) {
    pthread_mutex_lock(&current_recording.mutex);
    int has_failed = writes_until_failure < 0;
    writes_until_failure = number;
    pthread_mutex_unlock(&current_recording.mutex);
    return has_failed;
}

int write_fails_now(void) {
    pthread_mutex_lock(&current_recording.mutex);
    int fails = writes_until_failure > 0 && --writes_until_failure == 0;
    if (fails) {
        writes_until_failure = -1;
    }
    pthread_mutex_unlock(&current_recording.mutex);
    return fails;
}

static int recording_write(sqlite3_file *f, const void *bytes, int size, sqlite3_int64 offset) {
    if (write_fails_now()) {
        REAL(f)->pMethods->xWrite(REAL(f), bytes, size / 2, offset);
        return SQLITE_FULL;
    }
    int result = REAL(f)->pMethods->xWrite(REAL(f), bytes, size, offset);
    if (result == SQLITE_OK) {
        record(event_write, ((recorded_file *)f)->file, offset, bytes, size);
    }
    return result;
}

static int recording_truncate(sqlite3_file *f, sqlite3_int64 size) {
    int result = REAL(f)->pMethods->xTruncate(REAL(f), size);
    if (result == SQLITE_OK) {
        record(event_truncate, ((recorded_file *)f)->file, size, NULL, 0);
    }
    return result;
}

static int recording_sync(sqlite3_file *f, int flags) {
    // The real sync is left out: what matters is that SQLite asked for it here.
    (void)flags;
    record(event_sync, ((recorded_file *)f)->file, 0, NULL, 0);
    return SQLITE_OK;
}

static int recording_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
    (void)vfs;
    int number = recorded_file_number(path);
    int result = standard->xDelete(standard, path, syncs);
    if (result == SQLITE_OK) {
        record(event_delete, number, 0, NULL, 0);
    }
    return result;
}

// MARK: What is passed on

static int recording_close(sqlite3_file *f) {
    int result = REAL(f)->pMethods ? REAL(f)->pMethods->xClose(REAL(f)) : SQLITE_OK;
    free(REAL(f));
    return result;
}
static int recording_read(sqlite3_file *f, void *bytes, int size, sqlite3_int64 offset) {
    return REAL(f)->pMethods->xRead(REAL(f), bytes, size, offset);
}
static int recording_file_size(sqlite3_file *f, sqlite3_int64 *size) {
    return REAL(f)->pMethods->xFileSize(REAL(f), size);
}
static int recording_lock(sqlite3_file *f, int level) {
    return REAL(f)->pMethods->xLock(REAL(f), level);
}
static int recording_unlock(sqlite3_file *f, int level) {
    return REAL(f)->pMethods->xUnlock(REAL(f), level);
}
static int recording_check_reserved_lock(sqlite3_file *f, int *result) {
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), result);
}
static int recording_file_control(sqlite3_file *f, int operation, void *argument) {
    return REAL(f)->pMethods->xFileControl(REAL(f), operation, argument);
}
static int recording_sector_size(sqlite3_file *f) {
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}
static int recording_characteristics(sqlite3_file *f) {
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}
static int recording_shm_map(
    sqlite3_file *f, int index, int size, int extends, void volatile **region) {
    return REAL(f)->pMethods->xShmMap(REAL(f), index, size, extends, region);
}
static int recording_shm_lock(sqlite3_file *f, int first, int count, int flags) {
    return REAL(f)->pMethods->xShmLock(REAL(f), first, count, flags);
}
static void recording_shm_barrier(sqlite3_file *f) {
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}
static int recording_shm_unmap(sqlite3_file *f, int deletes) {
    return REAL(f)->pMethods->xShmUnmap(REAL(f), deletes);
}

static sqlite3_io_methods recording_methods = {
    .iVersion = 2,
    .xClose = recording_close,
    .xRead = recording_read,
    .xWrite = recording_write,
    .xTruncate = recording_truncate,
    .xSync = recording_sync,
    .xFileSize = recording_file_size,
    .xLock = recording_lock,
    .xUnlock = recording_unlock,
    .xCheckReservedLock = recording_check_reserved_lock,
    .xFileControl = recording_file_control,
    .xSectorSize = recording_sector_size,
    .xDeviceCharacteristics = recording_characteristics,
    .xShmMap = recording_shm_map,
    .xShmLock = recording_shm_lock,
    .xShmBarrier = recording_shm_barrier,
    .xShmUnmap = recording_shm_unmap,
};

static int recording_open(
    sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out_flags) {
    (void)vfs;
    int number = recorded_file_number(path);
    if (number < 0) {
        // Not ours: the file is the default one's own, in the same memory.
        return standard->xOpen(standard, path, f, flags, out_flags);
    }
    recorded_file *file = (recorded_file *)f;
    file->base.pMethods = NULL;
    file->file = number;
    file->real = calloc(1, (size_t)standard->szOsFile);
    if (!file->real) {
        return SQLITE_NOMEM;
    }
    int result = standard->xOpen(standard, path, file->real, flags, out_flags);
    if (result != SQLITE_OK) {
        free(file->real);
        return result;
    }
    file->base.pMethods = &recording_methods;
    return SQLITE_OK;
}

void divan_recording_stop(void) {
    pthread_mutex_lock(&current_recording.mutex);
    current_recording.is_on = 0;
    pthread_mutex_unlock(&current_recording.mutex);
    // Connections that are opened from now on are those of other tests.
    if (standard) sqlite3_vfs_register(standard, 1);
}

int divan_recording_start(const char *directory) {
    recording *r = &current_recording;
    pthread_mutex_lock(&r->mutex);
    for (int i = 0; i < r->count; i++) {
        free(r->events[i].bytes);
    }
    r->count = 0;
    r->file_count = 0;
    r->is_on = 1;
    sqlite3_snprintf(sizeof r->directory, r->directory, "%s", directory);
    int is_first = standard == NULL;
    if (is_first) {
        standard = sqlite3_vfs_find(NULL);
        recording_vfs = *standard;
        recording_vfs.zName = "divan-recording";
        recording_vfs.pNext = NULL;
        if (recording_vfs.szOsFile < (int)sizeof(recorded_file)) {
            recording_vfs.szOsFile = sizeof(recorded_file);
        }
        recording_vfs.xOpen = recording_open;
        recording_vfs.xDelete = recording_delete;
    }
    pthread_mutex_unlock(&r->mutex);
    return sqlite3_vfs_register(&recording_vfs, 1);
}
