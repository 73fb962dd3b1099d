// SPDX-License-Identifier: Apache-2.0
//
// The plain floor: what a careful programmer writes without a document database. One table, an ID and
// its JSON text (bound as text, which is what SQL's JSON functions read); no revisions, no checksums,
// no history.

#include "floor.h"

static sqlite3 *database;
// Of records one by one: they live as long as the database is open.
static sqlite3_stmt *get_record, *put_record, *scan_records;

static void open_plain(const Work *work) {
    database = sql_open(work->directory, "", "");
    if (work->is_durable) sql_run(database, "PRAGMA synchronous = FULL");
    sql_run(database, "CREATE TABLE IF NOT EXISTS docs (docid TEXT PRIMARY KEY, body BLOB)");
}

static void close_plain(void) {
    sqlite3_finalize(get_record);
    sqlite3_finalize(put_record);
    sqlite3_finalize(scan_records);
    sqlite3_close_v2(database);
}

static int64_t insert_plain(const Work *work) {
    sqlite3_stmt *insert = sql_prepare(database, "INSERT INTO docs (docid, body) VALUES (?1, ?2)");
    for (uint64_t index = 0; index < work->operations; index++) {
        if (index % work->per_transaction == 0) sql_run(database, index ? "COMMIT; BEGIN" : "BEGIN");
        int length;
        const char *text = input_text(work->input, index, &length);
        sqlite3_bind_text(insert, 1, input_id(work->input, index), ID_LENGTH, SQLITE_STATIC);
        sqlite3_bind_text(insert, 2, text, length, SQLITE_STATIC);
        sql_step_done(database, insert);
    }
    sql_run(database, "COMMIT");
    sqlite3_finalize(insert);
    return (int64_t)work->operations;
}

static int64_t read_random_plain(const Work *work, bool a_call_each) {
    sqlite3_stmt *select = sql_prepare(database, "SELECT body FROM docs WHERE docid = ?1");
    uint64_t state = 1;
    int64_t sum = 0;
    if (!a_call_each) sql_run(database, "BEGIN");
    for (uint64_t index = 0; index < work->operations; index++) {
        uint64_t chosen = random_next(&state) % work->input->count;
        sqlite3_bind_text(select, 1, input_id(work->input, chosen), ID_LENGTH, SQLITE_STATIC);
        if (sql_step_row(database, select))
            sum += find_age(sqlite3_column_blob(select, 0), sqlite3_column_bytes(select, 0));
        sqlite3_reset(select);
    }
    if (!a_call_each) sql_run(database, "COMMIT");
    sqlite3_finalize(select);
    return sum;
}

static int64_t update_plain(const Work *work) {
    sqlite3_stmt *select = sql_prepare(database, "SELECT body FROM docs WHERE docid = ?1");
    sqlite3_stmt *update = sql_prepare(database, "UPDATE docs SET body = ?2 WHERE docid = ?1");
    static char edited[65536];
    uint64_t state = 2;
    int64_t sum = 0;
    for (uint64_t index = 0; index < work->operations; index++) {
        if (index % work->per_transaction == 0) sql_run(database, index ? "COMMIT; BEGIN" : "BEGIN");
        const char *id = input_id(work->input, random_next(&state) % work->input->count);
        sqlite3_bind_text(select, 1, id, ID_LENGTH, SQLITE_STATIC);
        if (!sql_step_row(database, select)) return -1;
        int length = edit(sqlite3_column_blob(select, 0), sqlite3_column_bytes(select, 0), edited,
                          sizeof edited);
        sqlite3_reset(select);
        sqlite3_bind_text(update, 1, id, ID_LENGTH, SQLITE_STATIC);
        sqlite3_bind_text(update, 2, edited, length, SQLITE_STATIC);
        sql_step_done(database, update);
        sum += length;
    }
    sql_run(database, "COMMIT");
    sqlite3_finalize(select);
    sqlite3_finalize(update);
    return sum;
}

// SQL's own way to test a property.
static int64_t scan_predicate_plain(const Work *work) {
    sqlite3_stmt *select = sql_prepare(
        database, "SELECT count(*) FROM docs WHERE json_extract(body, '$.age') >= 50");
    (void)work;
    int64_t found = sql_step_row(database, select) ? sqlite3_column_int64(select, 0) : -1;
    sqlite3_finalize(select);
    return found;
}

static int64_t all_documents_plain(const Work *work) {
    sqlite3_stmt *select = sql_prepare(database, "SELECT docid, body FROM docs ORDER BY docid");
    (void)work;
    int64_t sum = 0;
    while (sql_step_row(database, select))
        sum += find_age(sqlite3_column_blob(select, 1), sqlite3_column_bytes(select, 1));
    sqlite3_finalize(select);
    return sum;
}

static int64_t all_ids_plain(const Work *work) {
    sqlite3_stmt *select = sql_prepare(database, "SELECT docid FROM docs ORDER BY docid");
    (void)work;
    int64_t sum = 0;
    while (sql_step_row(database, select)) sum += sqlite3_column_text(select, 0)[ID_LENGTH - 1];
    sqlite3_finalize(select);
    return sum;
}

// SQL's own way to an index on a property.
static int64_t index_plain(const Work *work) {
    (void)work;
    sql_run(database, "CREATE INDEX by_email ON docs (json_extract(body, '$.email'), docid)");
    return 1;
}

static int64_t index_property_plain(const Work *work) {
    (void)work;
    sql_run(database, "CREATE INDEX by_age ON docs (json_extract(body, '$.age'), docid)");
    return 1;
}

// Ranges of a hundred rows, key and ID of each, from the index alone.
static int64_t query_index_plain(const Work *work) {
    sqlite3_stmt *email = sql_prepare(
        database, "SELECT json_extract(body, '$.email') FROM docs WHERE docid = ?1");
    sqlite3_stmt *select = sql_prepare(
        database,
        "SELECT json_extract(body, '$.email'), docid FROM docs"
        " WHERE json_extract(body, '$.email') >= ?1 ORDER BY 1, 2 LIMIT 100");
    uint64_t state = 5;
    int64_t sum = 0;
    for (uint64_t row = 0; row < work->operations; row += 100) {
        const char *id = input_id(work->input, random_next(&state) % work->input->count);
        sqlite3_bind_text(email, 1, id, ID_LENGTH, SQLITE_STATIC);
        if (!sql_step_row(database, email)) return -1;
        sqlite3_bind_value(select, 1, sqlite3_column_value(email, 0));
        sqlite3_reset(email);
        while (sql_step_row(database, select))
            sum += sqlite3_column_bytes(select, 0) + sqlite3_column_bytes(select, 1);
        sqlite3_reset(select);
    }
    sqlite3_finalize(email);
    sqlite3_finalize(select);
    return sum;
}

// The documents of each age through the index on it: their IDs, and the email of each from its text.
static int64_t query_rows_plain(const Work *work) {
    (void)work;
    sqlite3_stmt *select = sql_prepare(
        database,
        "SELECT docid, json_extract(body, '$.email') FROM docs"
        " WHERE json_extract(body, '$.age') = ?1");
    int64_t sum = 0;
    for (int age = 18; age < 90; age++) {
        sqlite3_bind_int(select, 1, age);
        while (sql_step_row(database, select))
            sum += sqlite3_column_bytes(select, 0) + sqlite3_column_bytes(select, 1);
        sqlite3_reset(select);
    }
    sqlite3_finalize(select);
    return sum;
}

// An index beside the documents, which follows them later, as Divan's do: its rows by key, and by document the
// key that it had.
static void make_index_plain(const Work *work) {
    (void)work;
    sql_run(
        database,
        "CREATE TABLE rows (key TEXT, docid TEXT, PRIMARY KEY (key, docid)) WITHOUT ROWID;"
        "CREATE TABLE keys (docid TEXT PRIMARY KEY, key TEXT) WITHOUT ROWID;"
        "INSERT INTO rows SELECT json_extract(body, '$.email'), docid FROM docs ORDER BY 1, 2;"
        "INSERT INTO keys SELECT docid, json_extract(body, '$.email') FROM docs ORDER BY 1");
}

// A thousand documents whose text has become longer by a letter, as often as operations allow.
static int64_t update_index_plain(const Work *work) {
    sqlite3_stmt *select = sql_prepare(
        database,
        "SELECT key, key || 'x', json_extract(body, '$.email')"
        " FROM docs JOIN keys USING (docid) WHERE docid = ?1");
    sqlite3_stmt *remove = sql_prepare(database, "DELETE FROM rows WHERE key = ?1 AND docid = ?2");
    sqlite3_stmt *insert = sql_prepare(database, "INSERT INTO rows VALUES (?1, ?2)");
    sqlite3_stmt *note = sql_prepare(database, "UPDATE keys SET key = ?1 WHERE docid = ?2");
    int64_t sum = 0;
    for (uint64_t round = 0; round < work->operations; round++) {
        uint64_t state = round + 3;
        sql_run(database, "BEGIN");
        for (int index = 0; index < 1000; index++) {
            const char *id = input_id(work->input, random_next(&state) % work->input->count);
            sqlite3_bind_text(select, 1, id, ID_LENGTH, SQLITE_STATIC);
            if (!sql_step_row(database, select)) return -1;
            sqlite3_stmt *writers[] = {remove, insert, note};
            for (int writer = 0; writer < 3; writer++) {
                sqlite3_bind_value(writers[writer], 1, sqlite3_column_value(select, writer > 0));
                sqlite3_bind_text(writers[writer], 2, id, ID_LENGTH, SQLITE_STATIC);
            }
            sum += sqlite3_column_bytes(select, 2);
            sqlite3_reset(select);
            for (int writer = 0; writer < 3; writer++) sql_step_done(database, writers[writer]);
        }
        sql_run(database, "COMMIT");
    }
    sqlite3_finalize(select);
    sqlite3_finalize(remove);
    sqlite3_finalize(insert);
    sqlite3_finalize(note);
    return sum;
}

static sqlite3_stmt *kept(sqlite3_stmt **statement, const char *sql) {
    if (!*statement) *statement = sql_prepare(database, sql);
    else sqlite3_reset(*statement);
    return *statement;
}

static const char *get_plain(const char *id, int *length) {
    sqlite3_stmt *select = kept(&get_record, "SELECT body FROM docs WHERE docid = ?1");
    sqlite3_bind_text(select, 1, id, ID_LENGTH, SQLITE_STATIC);
    if (!sql_step_row(database, select)) return NULL;
    *length = sqlite3_column_bytes(select, 0);
    return sqlite3_column_blob(select, 0);
}

static void put_plain(const char *id, const char *text, int length) {
    // A read that is open would keep the log from being moved.
    if (get_record) sqlite3_reset(get_record);
    sqlite3_stmt *put = kept(
        &put_record,
        "INSERT INTO docs (docid, body) VALUES (?1, ?2) ON CONFLICT (docid) DO UPDATE SET body = excluded.body");
    sqlite3_bind_text(put, 1, id, ID_LENGTH, SQLITE_STATIC);
    sqlite3_bind_text(put, 2, text, length, SQLITE_STATIC);
    sql_step_done(database, put);
}

static int64_t scan_plain(const char *id, int count, int64_t (*row)(const char *, int)) {
    sqlite3_stmt *select =
        kept(&scan_records, "SELECT docid, body FROM docs WHERE docid >= ?1 ORDER BY docid LIMIT ?2");
    sqlite3_bind_text(select, 1, id, ID_LENGTH, SQLITE_STATIC);
    sqlite3_bind_int(select, 2, count);
    int64_t sum = 0;
    while (sql_step_row(database, select))
        sum += row(sqlite3_column_blob(select, 1), sqlite3_column_bytes(select, 1));
    sqlite3_reset(select);
    return sum;
}

const Engine plain_floor = {
    .name = "plain",
    .open = open_plain,
    .close = close_plain,
    .insert = insert_plain,
    .read_random = read_random_plain,
    .update = update_plain,
    .scan_predicate = scan_predicate_plain,
    .all_documents = all_documents_plain,
    .all_ids = all_ids_plain,
    .index = index_plain,
    .index_property = index_property_plain,
    .query_rows = query_rows_plain,
    .query_index = query_index_plain,
    .make_index = make_index_plain,
    .update_index = update_index_plain,
    .get = get_plain,
    .put = put_plain,
    .scan = scan_plain,
};
