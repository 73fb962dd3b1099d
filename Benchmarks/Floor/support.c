// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "floor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what, const char *why) {
    fprintf(stderr, "floor: %s: %s\n", what, why);
    exit(1);
}

Input input_open(const char *path) {
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) fail(path, "cannot be read");
    const char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) fail(path, "cannot be mapped");
    Input input;
    memcpy(&input.count, bytes, sizeof input.count);
    input.offsets = (const uint64_t *)(const void *)(bytes + 8);
    input.ids = bytes + 8 + 8 * (input.count + 1);
    input.texts = input.ids + ID_LENGTH * input.count;
    return input;
}

// SplitMix64, also in BenchmarkInput/SeededNumbers.swift.
uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t find_age(const char *text, int length) {
    static const char name[] = "\"age\":";
    const char *found = memmem(text, (size_t)length, name, sizeof name - 1);
    return found == NULL ? -1 : strtoll(found + sizeof name - 1, NULL, 10);
}

int edit(const char *text, int length, char *edited, int capacity) {
    static const char name[] = "\"age\":";
    static const char more[] = " Edited since.\"}";
    const char *found = memmem(text, (size_t)length, name, sizeof name - 1);
    if (found == NULL || length + 64 > capacity) fail("edit", "not a document of this benchmark");
    const char *number = found + sizeof name - 1;
    char *end;
    long age = strtol(number, &end, 10);
    int position = (int)(number - text);
    memcpy(edited, text, (size_t)position);
    position += snprintf(edited + position, (size_t)(capacity - position), "%ld", age + 1);
    int rest = length - (int)(end - text) - 2;  // up to the closing quote and brace
    memcpy(edited + position, end, (size_t)rest);
    position += rest;
    memcpy(edited + position, more, sizeof more - 1);
    return position + (int)sizeof more - 1;
}

// `creation` is for a new file only: setting auto_vacuum on an existing one writes to it.
sqlite3 *sql_open(const char *directory, const char *creation, const char *settings) {
    char path[4096];
    snprintf(path, sizeof path, "%s/floor.sqlite3", directory);
    bool is_new = access(path, F_OK) != 0;
    sqlite3 *database;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &database, flags, NULL) != SQLITE_OK) fail(path, "cannot be opened");
    if (is_new) sql_run(database, creation);
    sql_run(database, settings);
    sql_run(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
    return database;
}

void sql_run(sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql, sqlite3_errmsg(database));
}

sqlite3_stmt *sql_prepare(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK)
        fail(sql, sqlite3_errmsg(database));
    return statement;
}

void sql_step_done(sqlite3 *database, sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_sql(statement), sqlite3_errmsg(database));
    sqlite3_reset(statement);
}

bool sql_step_row(sqlite3 *database, sqlite3_stmt *statement) {
    int result = sqlite3_step(statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        fail(sqlite3_sql(statement), sqlite3_errmsg(database));
    return result == SQLITE_ROW;
}
