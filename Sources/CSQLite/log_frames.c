// SPDX-License-Identifier: Apache-2.0
//
// The write-ahead log of the file system in files_vfs.c: the frames of a commit are written at once.
//
// SQLite writes a frame as its header of 24 bytes and its page, and a commit as its frames, one right after the other.
// So frames wait for the one that ends the commit, and all are one call of the system, or as few as the room for them
// allows. Until then only the connection that writes them has a use for them; where it reads the log, or does anything
// else with it, they are written first. What else SQLite writes into the log, or into the middle of it, is written as it
// comes: in particular headers that are written anew, whose pages are there already. They are told apart by where the last
// write ended.
//
// So a frame may turn out not to be written after SQLite was told that it is, in the middle of another statement, whose
// error a caller may survive. The transaction must not: from there on each of its writes fails.
//
// 1. Nothing waits but headers that begin where the write before ended, each with its page but for the last, with no other
//    operation in between.
// 2. What waits is written before any other operation, and with the page of the frame that ends a commit.
// 3. Once a write has failed, each further one fails until the lock that writers take is given back, and so does reading
//    what is behind it.

#include "files_vfs.h"

#include <stddef.h>
#include <string.h>

// The most that waits: 30 frames with pages of 4 kB. The default file system writes less than 128 kB in one call.
enum { HEADER = 24, COUNT_AT = 4, LEAST = 16 * 1024, MOST = 124 * 1024 };

// Behind what the default file system keeps of a file.
typedef struct {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *real;
    // Where the last write ended; -1 if the last operation was none, or it failed.
    sqlite3_int64 end;
    // What waits, and ends there.
    unsigned char *bytes;
    int count;
    int capacity;
    // Whether its last header has no page yet, and is of a frame that ends a commit.
    int has_header;
    int is_commit;
    // Where the first write began that failed, and why: SQLITE_OK if none did.
    sqlite3_int64 lost;
    int reason;
    // Where the file system keeps the log of its database.
    sqlite3_file **place;
} log_file;

const int divan_log_size = sizeof(log_file);

static log_file *log_of(sqlite3_file *file) {
    return (log_file *)((char *)file->pMethods - offsetof(log_file, methods));
}

static int write_now(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    log_file *own = log_of(file);
    int code = own->real->xWrite(file, bytes, count, offset);
    if (code != SQLITE_OK) {
        own->lost = offset;
        own->reason = code;
    }
    own->end = code == SQLITE_OK ? offset + count : -1;
    return code;
}

// Writes what waits.
static int settle(sqlite3_file *file) {
    log_file *own = log_of(file);
    if (!own->count) return SQLITE_OK;
    int count = own->count;
    own->count = own->has_header = 0;
    return write_now(file, own->bytes, count, own->end - count);
}

static int settle_for_other(sqlite3_file *file) {
    int code = settle(file);
    log_of(file)->end = -1;
    return code;
}

static int has_room(log_file *own, int count) {
    if (count > MOST - own->count) return 0;
    if (own->count + count <= own->capacity) return 1;
    int capacity = own->count + count <= LEAST ? LEAST : MOST;
    unsigned char *bytes = sqlite3_realloc(own->bytes, capacity);
    if (!bytes) return 0;
    own->bytes = bytes;
    own->capacity = capacity;
    return 1;
}

static void add(log_file *own, const void *bytes, int count) {
    memcpy(own->bytes + own->count, bytes, (size_t)count);
    own->count += count;
    own->end += count;
}

static int write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    log_file *own = log_of(file);
    if (own->reason != SQLITE_OK) return own->reason;
    int follows = offset == own->end;
    if (follows && own->has_header && has_room(own, count)) {
        add(own, bytes, count);
        own->has_header = 0;
        return own->is_commit ? settle(file) : SQLITE_OK;
    }
    int waits = follows && !own->has_header && count == HEADER;
    int code = waits && has_room(own, count) ? SQLITE_OK : settle(file);
    if (code != SQLITE_OK) return code;
    if (!waits || !has_room(own, count)) return write_now(file, bytes, count, offset);
    static const char none[4];
    own->is_commit = memcmp((const char *)bytes + COUNT_AT, none, sizeof none) != 0;
    own->has_header = 1;
    add(own, bytes, count);
    return SQLITE_OK;
}

static int read_log(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    log_file *own = log_of(file);
    int code = settle_for_other(file);
    if (own->reason != SQLITE_OK && offset + count > own->lost) code = own->reason;
    return code != SQLITE_OK ? code : own->real->xRead(file, bytes, count, offset);
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
    sqlite3_free(own->bytes);
    own->bytes = NULL;
    *own->place = NULL;
    int closed = own->real->xClose(file);
    return code != SQLITE_OK ? code : closed;
}

void divan_log_end_writing(sqlite3_file *file) {
    log_file *own = log_of(file);
    // What still waits was undone.
    if (own->count) own->end = -1;
    own->count = own->has_header = 0;
    own->reason = SQLITE_OK;
}

void divan_log_open(sqlite3_file *file, void *room, sqlite3_file **place) {
    log_file *own = room;
    *own = (log_file){.methods = *file->pMethods, .real = file->pMethods, .end = -1, .place = place};
    own->methods.xWrite = write_log;
    own->methods.xRead = read_log;
    own->methods.xTruncate = truncate_log;
    own->methods.xSync = sync_log;
    own->methods.xFileSize = size_of_log;
    own->methods.xFileControl = control_log;
    own->methods.xClose = close_log;
    file->pMethods = &own->methods;
    *place = file;
}
