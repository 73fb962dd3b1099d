// SPDX-License-Identifier: Apache-2.0
//
// Journals and temporary files, which SQLite reads and writes at any offset: blocks of 4,056 bytes,
// each a unit of 4,096; the last one is as long as it need be.
//
// The process that opens the database after a crash must be able to read a rollback journal, so the key of
// the journal is derived like that of the database file. A block of it that is not genuine reads as zeros,
// with which SQLite ends a journal: a power loss may have torn it before it was synced, and until then the
// database file is as it was. There is a journal only while a database is made and not in its log's mode yet.
//
// Only the connection that opens a temporary file reads it: its key is drawn when it is opened, and never stored.

#include "codec.h"

#include <string.h>

static sqlite3_int64 size_to_plain(sqlite3_int64 size) {
    sqlite3_int64 rest = size % page_size;
    return size / page_size * content_size + (rest > trailer_size ? rest - trailer_size : 0);
}

static sqlite3_int64 size_to_sealed(sqlite3_int64 size) {
    sqlite3_int64 rest = size % content_size;
    return size / content_size * page_size + (rest > 0 ? rest + trailer_size : 0);
}

static int count_of(const codec_file *file, sqlite3_int64 block) {
    sqlite3_int64 rest = file->size - block * content_size;
    return rest < 0 ? 0 : rest < content_size ? (int)rest : content_size;
}

// Reads a block into `plain`; beyond the end it is zeros.
static int load(codec_file *file, sqlite3_int64 block) {
    if (file->held_block == block) {
        return SQLITE_OK;
    }
    file->held_block = -1;
    int count = count_of(file, block);
    memset(file->plain, 0, content_size);
    if (count > 0) {
        int code = REAL(file)->pMethods->xRead(
            REAL(file), file->sealed, count + trailer_size, block * page_size);
        if (code != SQLITE_OK) {
            return code;
        }
        unit_pieces pieces = {
            .source = {file->sealed}, .target = {file->plain}, .count = {count}};
        code = cipher_open(&file->cipher, (uint64_t)block + 1, pieces, file->sealed + count);
        int is_torn = code == SQLITE_IOERR_DATA && file->cipher.role == role_journal;
        if (code != SQLITE_OK && !is_torn) {
            return code;
        }
    }
    file->held_block = block;
    return SQLITE_OK;
}

// Seals what is held as a block of `count` bytes.
static int store(codec_file *file, sqlite3_int64 block, int count) {
    unit_pieces pieces = {
        .source = {file->plain}, .target = {file->sealed}, .count = {count}};
    int code = cipher_seal(
        &file->cipher, (uint64_t)block + 1, pieces, file->sealed + count);
    if (code == SQLITE_OK) {
        code = REAL(file)->pMethods->xWrite(
            REAL(file), file->sealed, count + trailer_size, block * page_size);
    }
    if (code != SQLITE_OK) {
        file->held_block = -1;
        return code;
    }
    if (block * content_size + count > file->size) {
        file->size = block * content_size + count;
    }
    return SQLITE_OK;
}

// Makes the file longer with zeros, up to where a block begins.
static int extend(codec_file *file, sqlite3_int64 block) {
    int code = SQLITE_OK;
    while (code == SQLITE_OK && file->size < block * content_size) {
        sqlite3_int64 last = file->size / content_size;
        code = load(file, last);
        if (code == SQLITE_OK) {
            code = store(file, last, content_size);
        }
    }
    return code;
}

int block_read(sqlite3_file *base, void *target, int count, sqlite3_int64 offset) {
    codec_file *file = (codec_file *)base;
    uint8_t *out = target;
    int code = codec_prepare(file, 0);
    if (code == SQLITE_OK && file->cipher.role == role_journal) {
        sqlite3_int64 size = 0;
        code = block_size(base, &size);
    }
    int available = offset >= file->size ? 0
        : file->size - offset < count ? (int)(file->size - offset) : count;
    for (int done = 0; code == SQLITE_OK && done < available;) {
        sqlite3_int64 block = (offset + done) / content_size;
        int within = (int)((offset + done) % content_size);
        int part = content_size - within < available - done
            ? content_size - within : available - done;
        code = load(file, block);
        if (code == SQLITE_OK) {
            memcpy(out + done, file->plain + within, (size_t)part);
            done += part;
        }
    }
    if (code != SQLITE_OK || available < count) {
        int read = code == SQLITE_OK ? available : 0;
        memset(out + read, 0, (size_t)(count - read));
        return code == SQLITE_OK ? SQLITE_IOERR_SHORT_READ : code;
    }
    return SQLITE_OK;
}

int block_write(sqlite3_file *base, const void *source, int count, sqlite3_int64 offset) {
    codec_file *file = (codec_file *)base;
    const uint8_t *bytes = source;
    int code = codec_prepare(file, 1);
    if (code == SQLITE_OK) {
        code = extend(file, offset / content_size);
    }
    for (int done = 0; code == SQLITE_OK && done < count;) {
        sqlite3_int64 block = (offset + done) / content_size;
        int within = (int)((offset + done) % content_size);
        int part = content_size - within < count - done ? content_size - within : count - done;
        code = load(file, block);
        if (code == SQLITE_OK) {
            memcpy(file->plain + within, bytes + done, (size_t)part);
            int length = count_of(file, block);
            code = store(file, block, within + part > length ? within + part : length);
            done += part;
        }
    }
    return code;
}

int block_truncate(sqlite3_file *base, sqlite3_int64 size) {
    codec_file *file = (codec_file *)base;
    sqlite3_int64 last = size / content_size;
    int rest = (int)(size % content_size);
    int code = codec_prepare(file, 1);
    if (code == SQLITE_OK && size > file->size) {
        code = extend(file, last);
    }
    if (code == SQLITE_OK && rest > 0 && size != file->size) {
        code = load(file, last);
        if (code == SQLITE_OK) {
            memset(file->plain + rest, 0, (size_t)(content_size - rest));
            code = store(file, last, rest);
        }
    }
    if (code == SQLITE_OK) {
        code = REAL(file)->pMethods->xTruncate(REAL(file), size_to_sealed(size));
    }
    file->held_block = -1;
    if (code == SQLITE_OK) {
        file->size = size;
    }
    return code;
}

int block_size(sqlite3_file *base, sqlite3_int64 *size) {
    codec_file *file = (codec_file *)base;
    sqlite3_int64 sealed = 0;
    int code = REAL(file)->pMethods->xFileSize(REAL(file), &sealed);
    if (code == SQLITE_OK) {
        if (size_to_plain(sealed) != file->size) {
            file->held_block = -1;
        }
        file->size = size_to_plain(sealed);
        *size = file->size;
    }
    return code;
}
