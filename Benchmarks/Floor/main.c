// SPDX-License-Identifier: Apache-2.0
//
//   Floor ENGINE WORK INPUT DIRECTORY OPERATIONS
//
// Does one piece of work in one process and prints one line of JSON: operations, seconds of CPU (user
// and system, all threads), seconds of wall time, and a number that depends on the work.

#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// However many threads Divan has for it, the floor has one.
static bool is_write_many(const char *name) {
    return strncmp(name, "write_many_", strlen("write_many_")) == 0;
}

// Opens, reads one document, closes, again and again: the cost of each time is the same.
static int64_t open_again(const Engine *engine, Work *work) {
    int64_t sum = 0;
    uint64_t opens = work->operations;
    work->operations = 1;
    for (uint64_t index = 0; index < opens; index++) {
        engine->open(work);
        sum += engine->read_random(work, true);
        engine->close();
    }
    work->operations = opens;
    return sum;
}

static int64_t run(const Engine *engine, const char *name, Work *work) {
    if (strcmp(name, "open") == 0) return open_again(engine, work);
    if (is_record_work(name) && engine->get) return run_records(engine, work);
    if (strcmp(name, "insert_batch") == 0) return engine->insert(work);
    if (strcmp(name, "insert_single") == 0) return engine->insert(work);
    if (is_write_many(name)) return engine->insert(work);
    if (strcmp(name, "read_random") == 0) return engine->read_random(work, false);
    if (strcmp(name, "read_random_each") == 0) return engine->read_random(work, true);
    if (strcmp(name, "update_batch") == 0) return engine->update(work);
    // A query of the builder that counts is the same SQL as a scan.
    if (strcmp(name, "scan_predicate") == 0 || strcmp(name, "query_count") == 0)
        return engine->scan_predicate(work);
    if (strcmp(name, "all_documents") == 0) return engine->all_documents(work);
    if (strcmp(name, "all_ids") == 0) return engine->all_ids(work);
    if (strcmp(name, "index_map") == 0 && engine->index) return engine->index(work);
    if (strcmp(name, "index_property") == 0 && engine->index_property)
        return engine->index_property(work);
    // By a view or by the builder: the same SQL.
    if ((strcmp(name, "query_index") == 0 || strcmp(name, "query_email") == 0) && engine->index)
        return engine->query_index(work);
    if (strcmp(name, "query_rows") == 0 && engine->query_rows) return engine->query_rows(work);
    if (strcmp(name, "index_update") == 0 && engine->update_index) return engine->update_index(work);
    fprintf(stderr, "floor: there is no work '%s'\n", name);
    exit(2);
}

// Rounds of a thousand updates: what an index on a number adds to them is what they take with it, less what as many take
// without.
static int64_t update_rounds(const Engine *engine, const Work *work) {
    Work updates = *work;
    updates.operations = 1000 * work->operations;
    return engine->update(&updates);
}

int main(int count, char **arguments) {
    if (count != 6) {
        fprintf(stderr, "usage: Floor plain|layout|plain-lmdb WORK INPUT DIRECTORY OPERATIONS\n");
        return 2;
    }
    const Engine *engine = strcmp(arguments[1], "plain") == 0         ? &plain_floor
                           : strcmp(arguments[1], "plain-lmdb") == 0 ? &plain_lmdb_floor
                                                                     : &layout_floor;
    const char *name = arguments[2];
    Input input = input_open(arguments[3]);
    Work work = {arguments[4], &input, strtoull(arguments[5], NULL, 10), 1000, is_write_many(name)};
    if (strcmp(name, "insert_single") == 0 || work.is_durable) work.per_transaction = 1;

    bool is_text = is_text_work(name);
    bool opens_itself = is_text || strcmp(name, "open") == 0;
    if (is_text) open_text(&work, name, arguments[3]);
    if (is_record_work(name)) open_records(name, arguments[3]);
    if (!opens_itself) engine->open(&work);
    if ((strcmp(name, "query_index") == 0 || strcmp(name, "query_email") == 0) && engine->index)
        engine->index(&work);
    if (strcmp(name, "query_rows") == 0 && engine->index_property) engine->index_property(&work);
    if (strcmp(name, "index_update") == 0 && engine->make_index) engine->make_index(&work);
    bool is_rounds = strcmp(name, "property_update") == 0;
    double cpu_alone = seconds_of(CLOCK_PROCESS_CPUTIME_ID), wall_alone = seconds_of(CLOCK_MONOTONIC);
    if (is_rounds) update_rounds(engine, &work);
    cpu_alone = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_alone;
    wall_alone = seconds_of(CLOCK_MONOTONIC) - wall_alone;
    if (is_rounds) engine->index_property(&work);
    double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
    int64_t result = is_text     ? run_text(&work, name)
                     : is_rounds ? update_rounds(engine, &work)
                                 : run(engine, name, &work);
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu - (is_rounds ? cpu_alone : 0);
    wall = seconds_of(CLOCK_MONOTONIC) - wall - (is_rounds ? wall_alone : 0);
    if (is_text) close_text();
    if (!opens_itself) engine->close();
    printf("{\"operations\":%llu,\"cpu\":%.6f,\"wall\":%.6f,\"result\":%lld}\n",
           (unsigned long long)work.operations, cpu, wall, (long long)result);
    return 0;
}
