// SPDX-License-Identifier: Apache-2.0
//
// The layout floor: the rows that Divan writes and reads (docs/internal/file-format.md), with opaque values of
// the same sizes, the same SQL and the same settings, and nothing of what makes the values: no JSON,
// no digest, no tree, no checksum.
//
//   documents   key = document ID    25 bytes: flags, tree of one revision, checksum
//   revisions   key = sequence       about 430 bytes: IDs, packed body, checksum
//   superseded  key = sequence       5 bytes: a mark, checksum
//   info        key = name           52 bytes: the counters, once a commit

#define _GNU_SOURCE
#include "floor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The checksum of a revision's row is counted with its head: 1 flag, 16 + 17 of IDs, 4 of checksum.
enum { DOCUMENT_ROW = 25, REVISION_HEAD = 38, GROWTH_PER_REVISION = 19, MARK = 5, COUNTERS = 52 };

static sqlite3 *database;
static int changes_file = -1;
static int64_t last_sequence;
static sqlite3_stmt *add_document, *set_document, *set_revision, *set_superseded, *set_info;
static sqlite3_stmt *get_document, *get_revision;

static void open_layout(const Work *work) {
    database = sql_open(work->directory,
                        "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL;",
                        "PRAGMA cache_size=-8192; PRAGMA mmap_size=1073741824;");
    sql_run(database,
            "CREATE TABLE IF NOT EXISTS documents (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID;"
            "CREATE TABLE IF NOT EXISTS revisions (key INTEGER PRIMARY KEY, value BLOB);"
            "CREATE TABLE IF NOT EXISTS superseded (key INTEGER PRIMARY KEY, value BLOB);"
            "CREATE TABLE IF NOT EXISTS info (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID;");
    add_document = sql_prepare(database, "INSERT OR IGNORE INTO documents VALUES (?1, ?2)");
    set_document = sql_prepare(database, "INSERT INTO documents VALUES (?1, ?2) "
                                         "ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    set_revision = sql_prepare(database, "REPLACE INTO revisions VALUES (?1, ?2)");
    set_superseded = sql_prepare(database, "INSERT INTO superseded VALUES (?1, ?2)");
    set_info = sql_prepare(database, "INSERT INTO info VALUES ('last', ?1) "
                                     "ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    get_document = sql_prepare(database, "SELECT value FROM documents WHERE key = ?1");
    get_revision = sql_prepare(database, "SELECT value FROM revisions WHERE key = ?1");
    sqlite3_stmt *last = sql_prepare(database, "SELECT value FROM info WHERE key = 'last'");
    if (sql_step_row(database, last))
        memcpy(&last_sequence, sqlite3_column_blob(last, 0), sizeof last_sequence);
    sqlite3_finalize(last);
    char path[4096];
    snprintf(path, sizeof path, "%s/changes", work->directory);
    changes_file = open(path, O_RDWR | O_CREAT, 0644);
}

static void close_layout(void) {
    sqlite3_stmt *all[] = {add_document, set_document, set_revision, set_superseded,
                           set_info,     get_document, get_revision};
    for (size_t index = 0; index < sizeof all / sizeof all[0]; index++) sqlite3_finalize(all[index]);
    sqlite3_close_v2(database);
    close(changes_file);
}

static void begin(void) {
    sql_run(database, "BEGIN IMMEDIATE");
}

static void commit(void) {
    char counters[COUNTERS] = {0};
    memcpy(counters, &last_sequence, sizeof last_sequence);
    sqlite3_bind_blob(set_info, 1, counters, COUNTERS, SQLITE_STATIC);
    sql_step_done(database, set_info);
    sql_run(database, "COMMIT");
    char news[24] = {0};
    memcpy(news, &last_sequence, sizeof last_sequence);
    if (pwrite(changes_file, news, sizeof news, 0) != sizeof news) perror("changes");
}

// A documents row begins with the sequence of the winning revision; the rest is filler.
static void put_document(sqlite3_stmt *statement, const char *id, int length) {
    char row[512];
    memset(row, 'd', sizeof row);
    memcpy(row, &last_sequence, sizeof last_sequence);
    sqlite3_bind_blob(statement, 1, id, ID_LENGTH, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 2, row, length, SQLITE_STATIC);
    sql_step_done(database, statement);
}

// A revisions row is the document ID, the revision ID and flags, then the body. Packed bodies of this
// document are as long as the text less 45 bytes, so that much of the text is left out.
static void put_revision(const char *id, const char *text, int length) {
    static char row[65536];
    enum { SAVED_BY_PACKING = 45 };
    memset(row, 'r', REVISION_HEAD);
    memcpy(row + 1, id, 16);
    length -= SAVED_BY_PACKING;
    memcpy(row + REVISION_HEAD, text, (size_t)length);
    sqlite3_bind_int64(set_revision, 1, ++last_sequence);
    sqlite3_bind_blob(set_revision, 2, row, REVISION_HEAD + length, SQLITE_STATIC);
    sql_step_done(database, set_revision);
}

static int64_t insert_layout(const Work *work) {
    for (uint64_t index = 0; index < work->operations; index++) {
        if (index % work->per_transaction == 0) {
            if (index) commit();
            begin();
        }
        int length;
        const char *text = input_text(work->input, index, &length);
        const char *id = input_id(work->input, index);
        put_revision(id, text, length);
        put_document(add_document, id, DOCUMENT_ROW);
    }
    commit();
    return last_sequence;
}

static int64_t sequence_of(const char *id) {
    int64_t sequence = -1;
    sqlite3_bind_blob(get_document, 1, id, ID_LENGTH, SQLITE_STATIC);
    if (sql_step_row(database, get_document))
        memcpy(&sequence, sqlite3_column_blob(get_document, 0), sizeof sequence);
    sqlite3_reset(get_document);
    return sequence;
}

static int64_t age_at(int64_t sequence) {
    int64_t age = -1;
    sqlite3_bind_int64(get_revision, 1, sequence);
    if (sql_step_row(database, get_revision)) {
        const char *row = sqlite3_column_blob(get_revision, 0);
        age = find_age(row + REVISION_HEAD, sqlite3_column_bytes(get_revision, 0) - REVISION_HEAD);
    }
    sqlite3_reset(get_revision);
    return age;
}

static int64_t read_random_layout(const Work *work, bool a_call_each) {
    uint64_t state = 1;
    int64_t sum = 0;
    if (!a_call_each) sql_run(database, "BEGIN");
    for (uint64_t index = 0; index < work->operations; index++) {
        uint64_t chosen = random_next(&state) % work->input->count;
        // Both lookups belong to one snapshot, so a call of its own is a transaction of its own.
        if (a_call_each) sql_run(database, "BEGIN");
        sum += age_at(sequence_of(input_id(work->input, chosen)));
        if (a_call_each) sql_run(database, "COMMIT");
    }
    if (!a_call_each) sql_run(database, "COMMIT");
    return sum;
}

// The blocks of an index on a property, as many and as long as Divan writes for a number of a hundred thousand documents.
enum { LISTS_OF_BLOCK = 31, LIST_BLOCK = 468, ROWS_OF_BLOCK = 25, ROW_BLOCK = 458, BLOCK_KEY = 17 };

// Names the block that begins with a place.
static void bind_block(sqlite3_stmt *statement, uint64_t first, unsigned char key[BLOCK_KEY]) {
    memset(key, 0, BLOCK_KEY);
    for (int byte = 0; byte < 8; byte++) key[byte] = (unsigned char)(first >> (56 - 8 * byte));
    sqlite3_bind_blob(statement, 1, key, BLOCK_KEY, SQLITE_STATIC);
}

// A block for each so many of the places from one to another, with keys that rise.
static void put_blocks(const char *sql, uint64_t first, uint64_t end, uint64_t of_block, int length) {
    sqlite3_stmt *insert = sql_prepare(database, sql);
    char row[512];
    memset(row, 'b', sizeof row);
    for (; first < end; first += of_block) {
        unsigned char key[BLOCK_KEY];
        bind_block(insert, first, key);
        sqlite3_bind_blob(insert, 2, row, length, SQLITE_STATIC);
        sql_step_done(database, insert);
    }
    sqlite3_finalize(insert);
}

// How many documents the index has, and how many lists; 0 without one.
static uint64_t indexed, lists;
// The changed documents that the index does not know yet: where the row of each is, by its key, and where it is to be.
static uint64_t *moves;
static uint64_t move_count;
static const char **moved_ids;

static int by_place(const void *left, const void *right) {
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

// What a changed document costs before its rows are known: its revision in the feed, its tree, and its former list.
static int64_t read_changes(int64_t since) {
    sqlite3_stmt *feed = sql_prepare(database, "SELECT value FROM revisions WHERE key > ?1 ORDER BY key");
    sqlite3_stmt *list = sql_prepare(database, "SELECT value FROM lists WHERE key = ?1");
    int64_t sum = 0;
    uint64_t index = 0;
    sqlite3_bind_int64(feed, 1, since);
    while (sql_step_row(database, feed)) {
        const char *row = sqlite3_column_blob(feed, 0);
        sum += find_age(row + REVISION_HEAD, sqlite3_column_bytes(feed, 0) - REVISION_HEAD);
        sum += sequence_of(moved_ids[index]);
        unsigned char key[BLOCK_KEY];
        bind_block(list, moves[2 * index] / LISTS_OF_BLOCK * LISTS_OF_BLOCK, key);
        if (sql_step_row(database, list)) sum += sqlite3_column_bytes(list, 0);
        sqlite3_reset(list);
        index++;
    }
    sqlite3_finalize(feed);
    sqlite3_finalize(list);
    return sum;
}

// Brings the index up to date in a commit of its own: each block that loses or gets a row is read and written, in the order of
// keys, and the lists of the changed documents stand behind all others.
static int64_t update_index_layout(int64_t since) {
    begin();
    int64_t sum = read_changes(since);
    qsort(moves, 2 * move_count, sizeof *moves, by_place);
    sqlite3_stmt *get = sql_prepare(database, "SELECT value FROM rows WHERE key = ?1");
    sqlite3_stmt *set = sql_prepare(database, "INSERT INTO rows VALUES (?1, ?2) "
                                              "ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    uint64_t last = UINT64_MAX;
    for (uint64_t index = 0; index < 2 * move_count; index++) {
        uint64_t first = moves[index] / ROWS_OF_BLOCK * ROWS_OF_BLOCK;
        if (first == last) continue;
        last = first;
        unsigned char key[BLOCK_KEY];
        char block[ROW_BLOCK] = {0};
        bind_block(get, first, key);
        if (sql_step_row(database, get)) memcpy(block, sqlite3_column_blob(get, 0), sizeof block);
        sqlite3_reset(get);
        block[0]++;
        bind_block(set, first, key);
        sqlite3_bind_blob(set, 2, block, sizeof block, SQLITE_STATIC);
        sql_step_done(database, set);
    }
    sqlite3_finalize(get);
    sqlite3_finalize(set);
    put_blocks("INSERT INTO lists VALUES (?1, ?2)", lists, lists + move_count, LISTS_OF_BLOCK, LIST_BLOCK);
    lists = (lists + move_count + LISTS_OF_BLOCK - 1) / LISTS_OF_BLOCK * LISTS_OF_BLOCK;
    move_count = 0;
    commit();
    return sum;
}

// Notes that the row of a document goes to the number that comes after: there are a hundred.
static void note_move(uint64_t document, const char *id) {
    moved_ids[move_count] = id;
    moves[2 * move_count] = document;
    moves[2 * move_count + 1] = (document + indexed / 100) % indexed;
    move_count++;
}

static int64_t update_layout(const Work *work) {
    static char edited[65536];
    uint64_t state = 2;
    int64_t sum = 0, since = last_sequence;
    for (uint64_t index = 0; index < work->operations; index++) {
        if (index % work->per_transaction == 0) {
            if (index) commit();
            if (index && indexed) sum += update_index_layout(since);
            since = last_sequence;
            begin();
        }
        uint64_t chosen = random_next(&state) % work->input->count;
        const char *id = input_id(work->input, chosen);
        int64_t old = sequence_of(id);
        sum += age_at(old);
        int length;
        const char *text = input_text(work->input, chosen, &length);
        length = edit(text, length, edited, sizeof edited);
        put_revision(id, edited, length);
        sqlite3_bind_int64(set_superseded, 1, old);
        sqlite3_bind_blob(set_superseded, 2, "dead", MARK, SQLITE_STATIC);
        sql_step_done(database, set_superseded);
        put_document(set_document, id, DOCUMENT_ROW + GROWTH_PER_REVISION);
        if (indexed) note_move(chosen, id);
    }
    commit();
    return indexed ? sum + update_index_layout(since) : sum;
}

// Sequence order, leaving out what is superseded: two cursors, merged.
static int64_t scan_predicate_layout(const Work *work) {
    sqlite3_stmt *revisions = sql_prepare(database, "SELECT key, value FROM revisions ORDER BY key");
    sqlite3_stmt *superseded = sql_prepare(database, "SELECT key FROM superseded ORDER BY key");
    (void)work;
    int64_t found = 0;
    bool more = sql_step_row(database, superseded);
    while (sql_step_row(database, revisions)) {
        int64_t sequence = sqlite3_column_int64(revisions, 0);
        while (more && sqlite3_column_int64(superseded, 0) < sequence)
            more = sql_step_row(database, superseded);
        if (more && sqlite3_column_int64(superseded, 0) == sequence) continue;
        const char *row = sqlite3_column_blob(revisions, 1);
        found += find_age(row + REVISION_HEAD,
                          sqlite3_column_bytes(revisions, 1) - REVISION_HEAD) >= 50;
    }
    sqlite3_finalize(revisions);
    sqlite3_finalize(superseded);
    return found;
}

static int64_t all_documents_layout(const Work *work) {
    sqlite3_stmt *documents = sql_prepare(database, "SELECT key, value FROM documents ORDER BY key");
    (void)work;
    int64_t sum = 0, sequence;
    while (sql_step_row(database, documents)) {
        memcpy(&sequence, sqlite3_column_blob(documents, 1), sizeof sequence);
        sum += age_at(sequence);
    }
    sqlite3_finalize(documents);
    return sum;
}

static int64_t all_ids_layout(const Work *work) {
    sqlite3_stmt *documents = sql_prepare(database, "SELECT key, value FROM documents ORDER BY key");
    (void)work;
    int64_t sum = 0;
    while (sql_step_row(database, documents)) {
        sum += ((const char *)sqlite3_column_blob(documents, 0))[ID_LENGTH - 1];
        sum += ((const char *)sqlite3_column_blob(documents, 1))[20];
    }
    sqlite3_finalize(documents);
    return sum;
}

typedef struct {
    int64_t age;
    int64_t sequence;
} Emission;

static int by_age(const void *left, const void *right) {
    const Emission *one = left, *other = right;
    if (one->age != other->age) return one->age < other->age ? -1 : 1;
    return (one->sequence > other->sequence) - (one->sequence < other->sequence);
}

static Emission *emissions;
static uint64_t emission_count;

// The feed read to its end, its numbers sorted, the blocks written in one commit; each part on one thread.
static int64_t index_property_layout(const Work *work) {
    emissions = malloc(work->input->count * sizeof *emissions);
    sqlite3_stmt *revisions = sql_prepare(database, "SELECT key, value FROM revisions ORDER BY key");
    uint64_t count = 0;
    // Behind so many there is only what replaced them, where documents have been changed before.
    while (count < work->input->count && sql_step_row(database, revisions)) {
        const char *row = sqlite3_column_blob(revisions, 1);
        emissions[count++] = (Emission){
            find_age(row + REVISION_HEAD, sqlite3_column_bytes(revisions, 1) - REVISION_HEAD),
            sqlite3_column_int64(revisions, 0),
        };
    }
    sqlite3_finalize(revisions);
    qsort(emissions, count, sizeof *emissions, by_age);
    begin();
    sql_run(database,
            "CREATE TABLE lists (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID;"
            "CREATE TABLE rows (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID;");
    put_blocks("INSERT INTO lists VALUES (?1, ?2)", 0, count, LISTS_OF_BLOCK, LIST_BLOCK);
    put_blocks("INSERT INTO rows VALUES (?1, ?2)", 0, count, ROWS_OF_BLOCK, ROW_BLOCK);
    commit();
    indexed = count;
    lists = (count + LISTS_OF_BLOCK - 1) / LISTS_OF_BLOCK * LISTS_OF_BLOCK;
    moves = malloc(2 * work->per_transaction * sizeof *moves);
    moved_ids = malloc(work->per_transaction * sizeof *moved_ids);
    emission_count = count;
    return count ? emissions[count / 2].age : 0;
}

// The documents of each age, whose sequences an index has: the ID of each and its email. The rows of the index are in
// memory already, and only what they lead to is read.
static int64_t query_rows_layout(const Work *work) {
    (void)work;
    static const char name[] = "\"email\":\"";
    int64_t sum = 0;
    for (uint64_t place = 0; place < emission_count; place++) {
        // A query for each age, and a snapshot for each query.
        bool is_first = place == 0 || emissions[place].age != emissions[place - 1].age;
        if (is_first && place) sql_run(database, "COMMIT");
        if (is_first) sql_run(database, "BEGIN");
        sqlite3_bind_int64(get_revision, 1, emissions[place].sequence);
        if (!sql_step_row(database, get_revision)) return -1;
        const char *row = sqlite3_column_blob(get_revision, 0);
        const char *email =
            memmem(row, (size_t)sqlite3_column_bytes(get_revision, 0), name, sizeof name - 1);
        if (email) sum += ID_LENGTH + (strchr(email + sizeof name - 1, '"') - email - (int)(sizeof name - 1));
        sqlite3_reset(get_revision);
    }
    if (emission_count) sql_run(database, "COMMIT");
    free(emissions);
    return sum;
}

const Engine layout_floor = {
    .name = "layout",
    .open = open_layout,
    .close = close_layout,
    .insert = insert_layout,
    .read_random = read_random_layout,
    .update = update_layout,
    .scan_predicate = scan_predicate_layout,
    .all_documents = all_documents_layout,
    .all_ids = all_ids_layout,
    .index_property = index_property_layout,
    .query_rows = query_rows_layout,
};
