// SPDX-License-Identifier: Apache-2.0
//
// A file that another connection cuts, behind whose end a mapping still reaches.

#include "cfaultvfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 4096, FILLED = 300, GROWN = 100, WANTED = 50 };

static sqlite3 *opened(const char *path, const char *vfs) {
    sqlite3 *database = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &database, flags, vfs) != SQLITE_OK) return NULL;
    sqlite3_exec(database,
                 "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
                 "PRAGMA mmap_size=1073741824; PRAGMA wal_autocheckpoint=0;",
                 NULL, NULL, NULL);
    return database;
}

static int run(sqlite3 *database, const char *sql) {
    return sqlite3_exec(database, sql, NULL, NULL, NULL);
}

static int fill(sqlite3 *database, int pages) {
    char sql[200];
    snprintf(sql, sizeof sql,
             "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
             " INSERT INTO rows SELECT NULL, zeroblob(3000) FROM c", pages);
    return run(database, sql);
}

// Whether the connection's file gives nothing of a page behind its end, and survives the question.
static int lacks_page(sqlite3 *database) {
    char bytes[PAGE];
    void *page = NULL;
    sqlite3_file *file = NULL;
    sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (!file || !file->pMethods) return 0;
    if (file->pMethods->xFetch(file, (sqlite3_int64)WANTED * PAGE, PAGE, &page) != SQLITE_OK || page) return 0;
    return file->pMethods->xRead(file, bytes, PAGE, (sqlite3_int64)WANTED * PAGE) == SQLITE_IOERR_SHORT_READ;
}

int divan_cut_file_check(const char *path, const char *vfs) {
    sqlite3 *writer = opened(path, vfs), *reader = opened(path, vfs), *other = opened(path, vfs);
    int step = 1;
    if (!writer || !reader || !other) return step;
    step++;
    if (run(other, "CREATE TABLE rows (k INTEGER PRIMARY KEY, v)") || fill(other, FILLED)
        || run(other, "PRAGMA wal_checkpoint(TRUNCATE)"))
        goto end;
    step++;
    // Both map the long file; one of them has written.
    if (run(reader, "SELECT sum(length(v || 'x')) FROM rows") || run(writer, "DELETE FROM rows WHERE k = 1")
        || run(other, "PRAGMA wal_checkpoint(TRUNCATE)") || run(writer, "SELECT sum(length(v || 'x')) FROM rows"))
        goto end;
    step++;
    // The file becomes short, and what comes after that is in the log only.
    if (run(other, "DELETE FROM rows") || run(other, "PRAGMA incremental_vacuum")
        || run(other, "PRAGMA wal_checkpoint(TRUNCATE)") || fill(other, GROWN))
        goto end;
    step++;
    if (run(writer, "BEGIN IMMEDIATE") || !lacks_page(writer) || run(writer, "COMMIT")) goto end;
    step++;
    if (run(reader, "BEGIN") || run(reader, "SELECT count(*) FROM rows") || !lacks_page(reader)
        || run(reader, "COMMIT"))
        goto end;
    step = 0;
end:
    sqlite3_close(writer);
    sqlite3_close(reader);
    sqlite3_close(other);
    return step;
}
