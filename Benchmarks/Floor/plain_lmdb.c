// SPDX-License-Identifier: Apache-2.0
//
// The plain floor on LMDB: an ID and its JSON text in one database. Every commit forces its pages to the
// disk, as Divan's do.

#include "floor.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MDB_env *env;
static MDB_dbi docs;

static void check(int code, const char *what) {
    if (code != 0) {
        fprintf(stderr, "floor: %s: %s\n", what, mdb_strerror(code));
        exit(1);
    }
}

static MDB_txn *begin(unsigned flags) {
    MDB_txn *txn;
    check(mdb_txn_begin(env, NULL, flags, &txn), "begin");
    return txn;
}

static MDB_val id_of(const Work *work, uint64_t index) {
    return (MDB_val){ID_LENGTH, (void *)input_id(work->input, index)};
}

static void open_lmdb(const Work *work) {
    char path[4096];
    snprintf(path, sizeof path, "%s/floor.mdb", work->directory);
    check(mdb_env_create(&env), "create");
    check(mdb_env_set_mapsize(env, (size_t)16 << 30), "map");
    unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;
    if (!work->is_durable) flags |= MDB_NOMETASYNC;
    check(mdb_env_open(env, path, flags, 0644), path);
    MDB_txn *txn = begin(0);
    check(mdb_dbi_open(txn, NULL, 0, &docs), "docs");
    check(mdb_txn_commit(txn), "commit");
}

static MDB_txn *reading;
static MDB_cursor *reading_cursor;

static void close_lmdb(void) {
    if (reading) {
        mdb_cursor_close(reading_cursor);
        mdb_txn_abort(reading);
    }
    mdb_env_close(env);
}

static int64_t insert_lmdb(const Work *work) {
    MDB_txn *txn = NULL;
    for (uint64_t index = 0; index < work->operations; index++) {
        if (index % work->per_transaction == 0) {
            if (txn) check(mdb_txn_commit(txn), "commit");
            txn = begin(0);
        }
        int length;
        const char *text = input_text(work->input, index, &length);
        MDB_val key = id_of(work, index), value = {(size_t)length, (void *)text};
        check(mdb_put(txn, docs, &key, &value, MDB_NOOVERWRITE), "put");
    }
    if (txn) check(mdb_txn_commit(txn), "commit");
    return (int64_t)work->operations;
}

static int64_t read_random_lmdb(const Work *work, bool a_call_each) {
    MDB_txn *txn = begin(MDB_RDONLY);
    uint64_t state = 1;
    int64_t sum = 0;
    for (uint64_t index = 0; index < work->operations; index++) {
        if (a_call_each) {
            mdb_txn_reset(txn);
            check(mdb_txn_renew(txn), "renew");
        }
        MDB_val key = id_of(work, random_next(&state) % work->input->count), value;
        if (mdb_get(txn, docs, &key, &value) == 0)
            sum += find_age(value.mv_data, (int)value.mv_size);
    }
    mdb_txn_abort(txn);
    return sum;
}

static int64_t update_lmdb(const Work *work) {
    static char edited[65536];
    MDB_txn *txn = NULL;
    uint64_t state = 2;
    int64_t sum = 0;
    for (uint64_t index = 0; index < work->operations; index++) {
        if (index % work->per_transaction == 0) {
            if (txn) check(mdb_txn_commit(txn), "commit");
            txn = begin(0);
        }
        MDB_val key = id_of(work, random_next(&state) % work->input->count), value;
        check(mdb_get(txn, docs, &key, &value), "get");
        int length = edit(value.mv_data, (int)value.mv_size, edited, sizeof edited);
        MDB_val changed = {(size_t)length, edited};
        check(mdb_put(txn, docs, &key, &changed, 0), "put");
        sum += length;
    }
    if (txn) check(mdb_txn_commit(txn), "commit");
    return sum;
}

static void begin_reading(void) {
    if (!reading) {
        reading = begin(MDB_RDONLY);
        check(mdb_cursor_open(reading, docs, &reading_cursor), "cursor");
        return;
    }
    mdb_txn_reset(reading);
    check(mdb_txn_renew(reading), "renew");
    check(mdb_cursor_renew(reading, reading_cursor), "renew");
}

static const char *get_lmdb(const char *id, int *length) {
    begin_reading();
    MDB_val key = {ID_LENGTH, (void *)id}, value;
    if (mdb_get(reading, docs, &key, &value) != 0) return NULL;
    *length = (int)value.mv_size;
    return value.mv_data;
}

static void put_lmdb(const char *id, const char *text, int length) {
    if (reading) mdb_txn_reset(reading);
    MDB_txn *txn = begin(0);
    MDB_val key = {ID_LENGTH, (void *)id}, value = {(size_t)length, (void *)text};
    check(mdb_put(txn, docs, &key, &value, 0), "put");
    check(mdb_txn_commit(txn), "commit");
}

static int64_t scan_lmdb(const char *id, int count, int64_t (*row)(const char *, int)) {
    begin_reading();
    MDB_val key = {ID_LENGTH, (void *)id}, value;
    int64_t sum = 0;
    int status = mdb_cursor_get(reading_cursor, &key, &value, MDB_SET_RANGE);
    for (int number = 0; status == 0 && number < count; number++) {
        sum += row(value.mv_data, (int)value.mv_size);
        status = mdb_cursor_get(reading_cursor, &key, &value, MDB_NEXT);
    }
    return sum;
}

// Calls `row` for every document in the order of the IDs, and adds up what it returns.
static int64_t scan(int64_t (*row)(MDB_val *key, MDB_val *value)) {
    MDB_txn *txn = begin(MDB_RDONLY);
    MDB_cursor *cursor;
    check(mdb_cursor_open(txn, docs, &cursor), "cursor");
    MDB_val key, value;
    int64_t sum = 0;
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) sum += row(&key, &value);
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    return sum;
}

static int64_t age_of(MDB_val *key, MDB_val *value) {
    (void)key;
    return find_age(value->mv_data, (int)value->mv_size);
}

static int64_t is_old(MDB_val *key, MDB_val *value) {
    return age_of(key, value) >= 50;
}

static int64_t end_of_id(MDB_val *key, MDB_val *value) {
    (void)value;
    return ((const char *)key->mv_data)[ID_LENGTH - 1];
}

static int64_t scan_predicate_lmdb(const Work *work) {
    (void)work;
    return scan(is_old);
}

static int64_t all_documents_lmdb(const Work *work) {
    (void)work;
    return scan(age_of);
}

static int64_t all_ids_lmdb(const Work *work) {
    (void)work;
    return scan(end_of_id);
}

const Engine plain_lmdb_floor = {
    .name = "plain-lmdb",
    .open = open_lmdb,
    .close = close_lmdb,
    .insert = insert_lmdb,
    .read_random = read_random_lmdb,
    .update = update_lmdb,
    .scan_predicate = scan_predicate_lmdb,
    .all_documents = all_documents_lmdb,
    .all_ids = all_ids_lmdb,
    .index = NULL,
    .query_index = NULL,
    .get = get_lmdb,
    .put = put_lmdb,
    .scan = scan_lmdb,
};
