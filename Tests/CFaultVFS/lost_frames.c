// SPDX-License-Identifier: Apache-2.0
//
// A log that loses frames which it was given, in the middle of another operation.

#include "cfaultvfs.h"

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>

enum { HEADER = 24, PAGE = 4096, FRAME = HEADER + PAGE };

static int run(sqlite3 *database, const char *sql) {
    return sqlite3_exec(database, sql, NULL, NULL, NULL);
}

// Gives the log a frame, as SQLite does.
static int give(sqlite3_file *log, sqlite3_int64 offset, char is_commit) {
    char header[HEADER] = {0}, page[PAGE] = {0};
    header[7] = is_commit;
    int code = log->pMethods->xWrite(log, header, HEADER, offset);
    return code != SQLITE_OK ? code : log->pMethods->xWrite(log, page, PAGE, offset + HEADER);
}

static int get(sqlite3_file *log, sqlite3_int64 offset) {
    char bytes[HEADER];
    return log->pMethods->xRead(log, bytes, HEADER, offset);
}

static int check(sqlite3 *database, const char *directory) {
    sqlite3_file *log = NULL;
    sqlite3_int64 end = 0;
    if (run(database, "PRAGMA journal_mode=WAL; CREATE TABLE rows (v); BEGIN IMMEDIATE")) return 2;
    sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (!log || !log->pMethods || log->pMethods->xFileSize(log, &end)) return 3;
    // One that is written, and one that waits until the log is read, when it cannot be written.
    if (give(log, end, 0) || give(log, end + FRAME, 0)) return 4;
    divan_failing_writes(directory, 1, 1000, EIO);
    int code = get(log, 0);
    divan_failing_writes(directory, 0, 0, 0);
    if (code == SQLITE_OK) return 5;
    // The disk is well again, but the transaction has lost a frame.
    if (give(log, end + 2 * FRAME, 1) == SQLITE_OK) return 6;
    if (get(log, end + FRAME) == SQLITE_OK) return 7;
    if (get(log, 0) || get(log, end)) return 8;
    if (run(database, "ROLLBACK; INSERT INTO rows VALUES (1)")) return 9;
    // What waits when a transaction ends is of no transaction.
    if (run(database, "BEGIN IMMEDIATE") || log->pMethods->xFileSize(log, &end)) return 10;
    if (give(log, end, 0) || give(log, end + FRAME, 0) || run(database, "ROLLBACK")) return 11;
    sqlite3_int64 after = 0;
    if (log->pMethods->xFileSize(log, &after) || after != end + FRAME) return 12;
    return run(database, "INSERT INTO rows VALUES (2)") ? 13 : 0;
}

int divan_lost_frames_check(const char *path, const char *directory, const char *vfs) {
    sqlite3 *database = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path, &database, flags, vfs) ? 1 : check(database, directory);
    sqlite3_close(database);
    return code;
}
