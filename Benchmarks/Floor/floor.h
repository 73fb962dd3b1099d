// SPDX-License-Identifier: Apache-2.0
//
// What the floors share: the input, the clock, and the shape of an engine.

#ifndef FLOOR_H
#define FLOOR_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ID_LENGTH = 36 };

// The input file, mapped: see BenchmarkInput/InputFile.swift for its layout.
typedef struct {
    uint64_t count;
    const char *ids;
    const uint64_t *offsets;
    const char *texts;
} Input;

Input input_open(const char *path);

static inline const char *input_id(const Input *input, uint64_t index) {
    return input->ids + index * ID_LENGTH;
}

static inline const char *input_text(const Input *input, uint64_t index, int *length) {
    *length = (int)(input->offsets[index + 1] - input->offsets[index]);
    return input->texts + input->offsets[index];
}

// The order of random reads and updates: the same numbers in every runner.
uint64_t random_next(uint64_t *state);

// Numbers below `count` that are not in order, none of them twice: `number` is below it, too.
static inline uint64_t scattered(uint64_t number, uint64_t count) {
    enum { PRIME = 7919 };
    return count % PRIME == 0 ? number : number * PRIME % count;
}

// One property of a document's JSON text, found by its name as plain bytes: no parser at all, which
// is what makes this a floor.
int64_t find_age(const char *text, int length);

// The edited text of an update: another age and a longer bio.
int edit(const char *text, int length, char *edited, int capacity);

typedef struct {
    const char *directory;
    const Input *input;
    uint64_t operations;
    uint64_t per_transaction;
    // Whether each commit waits until it would survive a power loss.
    bool is_durable;
} Work;

// Each function does `work->operations` operations and returns a number that depends on all of them,
// so that no work can be left out.
typedef struct {
    const char *name;
    void (*open)(const Work *);
    void (*close)(void);
    int64_t (*insert)(const Work *);
    int64_t (*read_random)(const Work *, bool a_call_each);
    int64_t (*update)(const Work *);
    int64_t (*scan_predicate)(const Work *);
    int64_t (*all_documents)(const Work *);
    int64_t (*all_ids)(const Work *);
    // An index on a text, and rows of it; NULL for a floor that has none.
    int64_t (*index)(const Work *);
    int64_t (*query_index)(const Work *);
    // An index on a number, and whole documents by it.
    int64_t (*index_property)(const Work *);
    int64_t (*query_rows)(const Work *);
    // The same, kept beside the documents: made, and brought up to date.
    void (*make_index)(const Work *);
    // Records one by one: a text, which is there until the next call; a new or changed one in a commit of its own; and `count`
    // of them from an ID on, of each of which `row` is called, whose results are added up.
    const char *(*get)(const char *id, int *length);
    void (*put)(const char *id, const char *text, int length);
    int64_t (*scan)(const char *id, int count, int64_t (*row)(const char *text, int length));
    int64_t (*update_index)(const Work *);
} Engine;

extern const Engine plain_floor;
extern const Engine layout_floor;
extern const Engine plain_lmdb_floor;

// The works of the Yahoo! Cloud Serving Benchmark, whose requests stand beside the input: see records.c.
bool is_record_work(const char *name);
void open_records(const char *name, const char *input);
int64_t run_records(const Engine *engine, const Work *work);

// The works on full text, over the plain floor's documents: see text.c.
bool is_text_work(const char *name);
void open_text(const Work *work, const char *name, const char *input);
int64_t run_text(const Work *work, const char *name);
void close_text(void);

// Small steps on SQLite that end the program with a sentence when they fail.
sqlite3 *sql_open(const char *directory, const char *creation, const char *settings);
void sql_run(sqlite3 *database, const char *sql);
sqlite3_stmt *sql_prepare(sqlite3 *database, const char *sql);
void sql_step_done(sqlite3 *database, sqlite3_stmt *statement);
bool sql_step_row(sqlite3 *database, sqlite3_stmt *statement);

#endif
