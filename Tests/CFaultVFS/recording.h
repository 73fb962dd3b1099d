// SPDX-License-Identifier: Apache-2.0
//
// The recording that the file system writes and the replay reads.

#ifndef DIVAN_RECORDING_H
#define DIVAN_RECORDING_H

#include <pthread.h>
#include <stdint.h>

enum { file_limit = 8, name_size = 64 };

typedef enum { event_write, event_truncate, event_sync, event_delete, event_mark } event_kind;

typedef struct {
    event_kind kind;
    int file;
    int64_t offset;  // of a write; the size after a truncation; the value of a mark
    int size;
    unsigned char *bytes;
} event;

typedef struct {
    pthread_mutex_t mutex;
    int is_on;
    char directory[1024];
    char names[file_limit][name_size];
    int file_count;
    event *events;
    int count;
    int capacity;
} recording;

extern recording current_recording;

// The number of a path's file in the recording; -1 for files elsewhere. Takes the mutex.
int recorded_file_number(const char *path);

// Whether the next write is the one that is to fail. Takes the mutex.
int write_fails_now(void);

// Appends an event, copying `size` bytes. Takes the mutex.
void record(event_kind kind, int file, int64_t offset, const void *bytes, int size);

#endif
