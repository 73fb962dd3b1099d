// SPDX-License-Identifier: Apache-2.0
//
// The write-ahead log of the file system in files_vfs.c: a frame is written at once.
//
// SQLite writes a frame as its header of 24 bytes and its page, one right after the other. So a header waits for its
// page, and both are one call of the system. What else SQLite writes into the log, or into the middle of it, is written
// as it comes: in particular headers that are written anew, whose pages are there already. They are told apart by where
// the last write ended: a header waits only where it goes on from there.
//
// 1. Nothing waits but a header that begins where the write before it ended, with no other operation in between.
// 2. What waits is written before any other operation but the write of its page.

#include "files_vfs.h"

#include <stddef.h>
#include <string.h>

enum { HEADER = 24, LARGEST_PAGE = 65536 };

// Behind what the default file system keeps of a file.
typedef struct {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *real;
    // Where the last write ended; -1 if the last operation was none, or it failed.
    sqlite3_int64 end;
    int is_waiting;
    // Room for a frame; made with the first one.
    unsigned char *frame;
    int capacity;
} log_file;

const int divan_log_size = sizeof(log_file);

static log_file *log_of(sqlite3_file *file) {
    return (log_file *)((char *)file->pMethods - offsetof(log_file, methods));
}

// Writes what waits, before an operation that is no write of a page.
static int settle(sqlite3_file *file) {
    log_file *own = log_of(file);
    if (!own->is_waiting) return SQLITE_OK;
    own->is_waiting = 0;
    return own->real->xWrite(file, own->frame, HEADER, own->end - HEADER);
}

static int settle_for_other(sqlite3_file *file) {
    int code = settle(file);
    log_of(file)->end = -1;
    return code;
}

static int has_room(log_file *own, int count) {
    if (count <= own->capacity) return 1;
    unsigned char *frame = count <= HEADER + LARGEST_PAGE ? sqlite3_realloc(own->frame, count) : NULL;
    if (!frame) return 0;
    own->frame = frame;
    own->capacity = count;
    return 1;
}

static int write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    log_file *own = log_of(file);
    int code;
    if (own->is_waiting && offset == own->end && has_room(own, HEADER + count)) {
        own->is_waiting = 0;
        memcpy(own->frame + HEADER, bytes, (size_t)count);
        code = own->real->xWrite(file, own->frame, HEADER + count, offset - HEADER);
    } else if (count == HEADER && !own->is_waiting && offset == own->end && has_room(own, HEADER)) {
        memcpy(own->frame, bytes, HEADER);
        own->is_waiting = 1;
        code = SQLITE_OK;
    } else {
        code = settle(file);
        if (code == SQLITE_OK) code = own->real->xWrite(file, bytes, count, offset);
    }
    own->end = code == SQLITE_OK ? offset + count : -1;
    return code;
}

static int read_log(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    int code = settle_for_other(file);
    return code != SQLITE_OK ? code : log_of(file)->real->xRead(file, bytes, count, offset);
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size) {
    int code = settle_for_other(file);
    return code != SQLITE_OK ? code : log_of(file)->real->xTruncate(file, size);
}

static int sync_log(sqlite3_file *file, int flags) {
    int code = settle_for_other(file);
    return code != SQLITE_OK ? code : log_of(file)->real->xSync(file, flags);
}

static int size_of_log(sqlite3_file *file, sqlite3_int64 *size) {
    int code = settle_for_other(file);
    return code != SQLITE_OK ? code : log_of(file)->real->xFileSize(file, size);
}

static int control_log(sqlite3_file *file, int operation, void *argument) {
    int code = settle_for_other(file);
    return code != SQLITE_OK ? code : log_of(file)->real->xFileControl(file, operation, argument);
}

static int close_log(sqlite3_file *file) {
    log_file *own = log_of(file);
    int code = settle(file);
    sqlite3_free(own->frame);
    own->frame = NULL;
    int closed = own->real->xClose(file);
    return code != SQLITE_OK ? code : closed;
}

void divan_log_open(sqlite3_file *file, void *room) {
    log_file *own = room;
    *own = (log_file){.methods = *file->pMethods, .real = file->pMethods, .end = -1};
    own->methods.xWrite = write_log;
    own->methods.xRead = read_log;
    own->methods.xTruncate = truncate_log;
    own->methods.xSync = sync_log;
    own->methods.xFileSize = size_of_log;
    own->methods.xFileControl = control_log;
    own->methods.xClose = close_log;
    file->pMethods = &own->methods;
}
