// SPDX-License-Identifier: Apache-2.0
//
// From a recording to the files a power loss could leave.

#include "cfaultvfs.h"
#include "recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { sector = 512 };

// One file while it is replayed: its bytes, and the events since its last sync.
typedef struct {
    unsigned char *bytes;
    int64_t size;
    int64_t capacity;
    int exists;
    int *pending;
    int pending_count;
} image;

static void resize(image *file, int64_t size) {
    if (size > file->size) {
        if (size > file->capacity) {
            file->capacity = size + size / 2;
            file->bytes = realloc(file->bytes, (size_t)file->capacity);
        }
        memset(file->bytes + file->size, 0, (size_t)(size - file->size));
    }
    file->size = size;
}

static void write_part(image *file, const event *e, int from, int to) {
    if (e->offset + to > file->size) {
        resize(file, e->offset + to);
    }
    memcpy(file->bytes + e->offset + from, e->bytes + from, (size_t)(to - from));
}

static int is_chosen(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 40) & 1;
}

// Applies one event whole, or in the sectors that the seed chooses.
static void apply(image *file, const event *e, int loss, uint64_t *seed) {
    if (e->kind == event_truncate) {
        if (loss == divan_loss_nothing || is_chosen(seed)) {
            resize(file, e->offset);
        }
        return;
    }
    if (loss == divan_loss_nothing) {
        write_part(file, e, 0, e->size);
        return;
    }
    // Half of the writes are there or not as a whole, the others in part.
    int is_torn = is_chosen(seed), is_kept = is_chosen(seed);
    for (int from = 0; from < e->size; from += sector) {
        int to = from + sector < e->size ? from + sector : e->size;
        if (is_torn ? is_chosen(seed) : is_kept) {
            write_part(file, e, from, to);
        }
    }
}

static void settle(image *file, int loss, uint64_t *seed) {
    for (int i = 0; i < file->pending_count && loss != divan_loss_all; i++) {
        apply(file, &current_recording.events[file->pending[i]], loss, seed);
    }
    file->pending_count = 0;
}

static int save(const image *file, const char *directory, const char *name) {
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *out = fopen(path, "wb");
    if (!out) {
        return errno;
    }
    size_t written = file->size > 0 ? fwrite(file->bytes, 1, (size_t)file->size, out) : 0;
    int result = fclose(out) == 0 && (int64_t)written == file->size ? 0 : EIO;
    return result;
}

static void replay_event(image *files, int number, uint64_t *seed) {
    const event *e = &current_recording.events[number];
    if (e->kind == event_mark) {
        return;
    }
    image *file = &files[e->file];
    switch (e->kind) {
    case event_sync:
        settle(file, divan_loss_nothing, seed);
        break;
    case event_delete:
        // SQLite deletes only what it no longer needs, so keeping the name would be the easier case.
        file->pending_count = 0;
        file->size = 0;
        file->exists = 0;
        break;
    default:
        file->exists = 1;
        file->pending[file->pending_count++] = number;
    }
}

int divan_recording_replay(int event_number, int loss, uint64_t seed, const char *target) {
    image files[file_limit] = {{0}};
    int result = 0;
    for (int i = 0; i < file_limit; i++) {
        files[i].pending = malloc(sizeof(int) * (size_t)(event_number + 1));
    }
    for (int i = 0; i < event_number && i < current_recording.count; i++) {
        replay_event(files, i, &seed);
    }
    for (int i = 0; i < file_limit; i++) {
        settle(&files[i], loss, &seed);
        if (files[i].exists && result == 0) {
            result = save(&files[i], target, current_recording.names[i]);
        }
        free(files[i].bytes);
        free(files[i].pending);
    }
    return result;
}

int divan_recording_count(void) {
    return current_recording.count;
}

int divan_recording_is_sync(int number) {
    return current_recording.events[number].kind == event_sync;
}

int64_t divan_recording_mark_before(int number) {
    for (int i = number - 1; i >= 0; i--) {
        if (current_recording.events[i].kind == event_mark) {
            return current_recording.events[i].offset;
        }
    }
    return 0;
}
