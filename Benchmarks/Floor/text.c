// SPDX-License-Identifier: Apache-2.0
//
// The floor of full text: SQLite's FTS5 over the documents of the plain floor, as a careful programmer uses
// it who needs no copy of the texts.
//
//   docs        the documents, which are there before: ID and JSON text
//   documents   rowid, id      the number of each document: answers are told, and updates come, by ID
//   words       bio            FTS5, tokenizer "porter unicode61 remove_diacritics 2", detail=full, contentless
//
// The index is built in one transaction and is not optimized afterwards. The texts are read from the stored
// JSON by json_extract. A contentless index is told the former text of a document that changes.

#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_QUERY = 512, MOST_QUERIES = 1024 };

static sqlite3 *database;
static char queries[MOST_QUERIES][LONGEST_QUERY];
static int query_count;

// The words of a line as FTS5 takes them.
static void append_query(const char *kind, const char *words) {
    char *query = queries[query_count++];
    const char *joint = strcmp(kind, "and") == 0 ? " AND " : strcmp(kind, "or") == 0 ? " OR " : " ";
    const char *quote = strcmp(kind, "phrase") == 0 ? "\"" : "";
    int length = snprintf(query, LONGEST_QUERY, "%s", quote);
    for (const char *next = words; *next && length < LONGEST_QUERY - 16; next++)
        length += *next == ' ' ? snprintf(query + length, 8, "%s", joint)
                               : snprintf(query + length, 2, "%c", *next);
    snprintf(query + length, 8, "%s%s", quote, strcmp(kind, "prefix") == 0 ? "*" : "");
}

// Reads the searches of a kind: see BenchmarkInput/TextQueries.swift.
static void read_queries(const char *input, const char *kind) {
    char path[4096], line[LONGEST_QUERY];
    snprintf(path, sizeof path, "%s.queries", input);
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t length = strlen(kind);
    while (fgets(line, sizeof line, file) && query_count < MOST_QUERIES) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, kind, length) == 0 && line[length] == ' ')
            append_query(kind, line + length + 1);
    }
    fclose(file);
}

static int64_t build(const Work *work) {
    sql_run(database,
            "BEGIN;"
            "CREATE TABLE documents (rowid INTEGER PRIMARY KEY, id TEXT UNIQUE);"
            "CREATE VIRTUAL TABLE words USING fts5 (bio, content='', detail=full,"
            " tokenize='porter unicode61 remove_diacritics 2');"
            "INSERT INTO documents SELECT rowid, docid FROM docs;"
            "INSERT INTO words (rowid, bio) SELECT rowid, json_extract(body, '$.bio') FROM docs;"
            "COMMIT");
    return (int64_t)work->input->count;
}

static bool is_built(void) {
    sqlite3_stmt *select = sql_prepare(database, "SELECT 1 FROM sqlite_schema WHERE name = 'words'");
    bool found = sql_step_row(database, select);
    sqlite3_finalize(select);
    return found;
}

// Two words more in a thousand documents, as often as operations allow: what the index takes of it. No
// document comes twice, so that the stored text is the former one.
static int64_t update(const Work *work) {
    sqlite3_stmt *select = sql_prepare(
        database,
        "SELECT documents.rowid, json_extract(body, '$.bio'), json_extract(body, '$.bio') || ' Edited since.'"
        " FROM documents JOIN docs ON docs.docid = documents.id WHERE id = ?1");
    sqlite3_stmt *remove =
        sql_prepare(database, "INSERT INTO words (words, rowid, bio) VALUES ('delete', ?1, ?2)");
    sqlite3_stmt *insert = sql_prepare(database, "INSERT INTO words (rowid, bio) VALUES (?1, ?2)");
    uint64_t each = work->input->count / work->operations;
    if (each > 1000) each = 1000;
    int64_t sum = 0;
    for (uint64_t round = 0; round < work->operations; round++) {
        sql_run(database, "BEGIN");
        for (uint64_t number = round * each; number < (round + 1) * each; number++) {
            uint64_t chosen = scattered(number, work->input->count);
            sqlite3_bind_text(select, 1, input_id(work->input, chosen), ID_LENGTH, SQLITE_STATIC);
            if (!sql_step_row(database, select)) return -1;
            for (int column = 0; column < 2; column++) {
                sqlite3_stmt *writer = column == 0 ? remove : insert;
                sqlite3_bind_value(writer, 1, sqlite3_column_value(select, 0));
                sqlite3_bind_value(writer, 2, sqlite3_column_value(select, column + 1));
                sql_step_done(database, writer);
            }
            sum += sqlite3_column_bytes(select, 2);
            sqlite3_reset(select);
        }
        sql_run(database, "COMMIT");
    }
    sqlite3_finalize(select);
    sqlite3_finalize(remove);
    sqlite3_finalize(insert);
    return sum;
}

// Each operation is a search, whose rows are read to the end. A phrase tells all of its matches, in the order
// of their IDs; others tell the best ten.
static int64_t search(const Work *work, bool is_phrase) {
    sqlite3_stmt *select = sql_prepare(
        database,
        is_phrase ? "SELECT id FROM words JOIN documents ON documents.rowid = words.rowid"
                    " WHERE words MATCH ?1 ORDER BY id"
                  : "SELECT id FROM (SELECT rowid AS number, rank FROM words WHERE words MATCH ?1"
                    " ORDER BY rank LIMIT 10) JOIN documents ON documents.rowid = number ORDER BY rank");
    int64_t rows = 0;
    for (uint64_t index = 0; query_count > 0 && index < work->operations; index++) {
        const char *query = queries[index % (uint64_t)query_count];
        sqlite3_bind_text(select, 1, query, -1, SQLITE_STATIC);
        while (sql_step_row(database, select)) rows += sqlite3_column_bytes(select, 0) > 0;
        sqlite3_reset(select);
    }
    sqlite3_finalize(select);
    return rows;
}

bool is_text_work(const char *name) {
    return strncmp(name, "text_", 5) == 0;
}

// All but the build have their index before the clock starts.
void open_text(const Work *work, const char *name, const char *input) {
    database = sql_open(work->directory, "", "");
    if (strcmp(name, "text_build") == 0) return;
    read_queries(input, name + 5);
    if (!is_built()) build(work);
}

int64_t run_text(const Work *work, const char *name) {
    if (strcmp(name, "text_build") == 0) return build(work);
    if (strcmp(name, "text_update") == 0) return update(work);
    return search(work, strcmp(name, "text_phrase") == 0);
}

void close_text(void) {
    sqlite3_close_v2(database);
}
