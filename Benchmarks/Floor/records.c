// SPDX-License-Identifier: Apache-2.0
//
// The workloads of the Yahoo! Cloud Serving Benchmark, by requests that BenchmarkInput/RecordRequests.swift describes.

#define _GNU_SOURCE
#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_LENGTH = 100, READ = 0, UPDATE, INSERT, SCAN, READ_AND_UPDATE };

typedef struct {
    uint8_t kind, field;
    uint16_t count;
    uint32_t record;
} Request;

static Request *requests;
static char field_name[] = "\"field0\":\"";

bool is_record_work(const char *name) {
    return strncmp(name, "ycsb_", strlen("ycsb_")) == 0;
}

void open_records(const char *name, const char *input) {
    char path[4096];
    snprintf(path, sizeof path, "%s.requests-%s", input, name);
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "floor: %s cannot be read\n", path);
        exit(1);
    }
    size_t size = (size_t)ftell(file);
    requests = malloc(size);
    rewind(file);
    if (!requests || fread(requests, 1, size, file) != size) exit(1);
    fclose(file);
}

// Where the field that is asked for begins.
static const char *find_field(const char *text, int length) {
    const char *found = memmem(text, (size_t)length, field_name, sizeof field_name - 1);
    return found ? found + sizeof field_name - 1 : NULL;
}

static int64_t length_of_field(const char *text, int length) {
    const char *field = find_field(text, length);
    return field ? (const char *)memchr(field, '"', (size_t)(text + length - field)) - field : 0;
}

static int64_t update(const Engine *engine, const char *id, uint64_t number) {
    static char edited[65536];
    int length;
    const char *text = engine->get(id, &length);
    if (!text || length > (int)sizeof edited) return -1;
    memcpy(edited, text, (size_t)length);
    char *field = (char *)find_field(edited, length);
    if (!field) return -1;
    memset(field, 'a' + (int)(number % 26), FIELD_LENGTH);
    engine->put(id, edited, length);
    return length;
}

int64_t run_records(const Engine *engine, const Work *work) {
    int64_t sum = 0;
    for (uint64_t number = 0; number < work->operations; number++) {
        Request request = requests[number];
        const char *id = input_id(work->input, request.record);
        int length;
        const char *text;
        field_name[sizeof "\"field" - 1] = (char)('0' + request.field);
        if (request.kind == READ || request.kind == READ_AND_UPDATE) {
            text = engine->get(id, &length);
            if (text) sum += length_of_field(text, length);
        }
        if (request.kind == UPDATE || request.kind == READ_AND_UPDATE) sum += update(engine, id, number);
        if (request.kind == SCAN) sum += engine->scan(id, request.count, length_of_field);
        if (request.kind == INSERT) {
            text = input_text(work->input, request.record, &length);
            engine->put(id, text, length);
        }
    }
    return sum;
}
