// SPDX-License-Identifier: Apache-2.0
//
// The database file: each page is a unit, with its trailer in the bytes that SQLite reserves.
//
//      page 1      0  16   the file's identity, not sealed; SQLite sees its constant first bytes here
//                 16  4040 sealed
//               4056  40   trailer
//      others      0  4056 sealed
//               4056  40   trailer
//
// SQLite sees zeros where the trailer is. That they are zeros when it writes, too, is what makes the
// checksums of its log come out the same when a page has been through the codec, so it is checked.
//
// A page that was never written would be a hole in the file, and a hole is not genuine. So a
// writer that makes the file longer by more than a page seals pages of zeros in between.

#include "codec.h"

#include <string.h>

static const uint8_t magic[identity_size] = "SQLite format 3";
enum { reserved_offset = 20 };

static unit_pieces pieces_of(
    const uint8_t *source, uint8_t *target, sqlite3_int64 page) {
    int skipped = page == 0 ? identity_size : 0;
    return (unit_pieces){
        .source = {source + skipped}, .target = {target + skipped},
        .count = {content_size - skipped}};
}

// Reads one page into `target`, which has room for all of it.
static int load(codec_file *file, uint8_t *target, sqlite3_int64 page) {
    int code = REAL(file)->pMethods->xRead(REAL(file), target, page_size, page * page_size);
    if (code != SQLITE_OK) {
        if (code == SQLITE_IOERR_SHORT_READ) {
            memset(target, 0, page_size);
        }
        return code;
    }
    code = codec_prepare(file, 0);
    if (code == SQLITE_OK) {
        code = cipher_open(
            &file->cipher, (uint64_t)page + 1, pieces_of(target, target, page),
            target + content_size);
    }
    memset(target + content_size, 0, trailer_size);
    if (code != SQLITE_OK) {
        memset(target, 0, page_size);
    } else if (page == 0) {
        memcpy(target, magic, identity_size);
    }
    return code;
}

int page_read(sqlite3_file *base, void *target, int count, sqlite3_int64 offset) {
    codec_file *file = (codec_file *)base;
    if (count == page_size && offset % page_size == 0) {
        return load(file, target, offset / page_size);
    }
    uint8_t *out = target;
    for (int done = 0; done < count;) {
        int within = (int)((offset + done) % page_size);
        int part = page_size - within < count - done ? page_size - within : count - done;
        int code = load(file, file->plain, (offset + done) / page_size);
        if (code == SQLITE_IOERR_DATA && offset + count <= page_size) {
            // A look at the file's head, before the log has been asked, which may have page 1 whole
            // after a power loss tore it here. Whatever is made of it, page 1 is read as a whole next.
            code = SQLITE_IOERR_SHORT_READ;
        }
        if (code != SQLITE_OK) {
            memset(out + done, 0, (size_t)(count - done));
            return code;
        }
        memcpy(out + done, file->plain + within, (size_t)part);
        done += part;
    }
    return SQLITE_OK;
}

static int store(codec_file *file, const uint8_t *source, sqlite3_int64 page) {
    int code = cipher_seal(
        &file->cipher, (uint64_t)page + 1, pieces_of(source, file->sealed, page),
        file->sealed + content_size);
    if (code != SQLITE_OK) {
        return code;
    }
    if (page == 0) {
        memcpy(file->sealed, file->cipher.identity, identity_size);
    }
    return REAL(file)->pMethods->xWrite(
        REAL(file), file->sealed, page_size, page * page_size);
}

// Seals pages of zeros from the end of the file up to `page`, and makes them durable: they are in no
// log that would bring them back.
static int fill(codec_file *file, sqlite3_int64 page) {
    sqlite3_int64 size = 0;
    int code = REAL(file)->pMethods->xFileSize(REAL(file), &size);
    sqlite3_int64 first = (size + page_size - 1) / page_size;
    if (code != SQLITE_OK || first >= page || first == 0) {
        return code;
    }
    memset(file->plain, 0, page_size);
    for (sqlite3_int64 next = first; next < page && code == SQLITE_OK; next++) {
        code = store(file, file->plain, next);
    }
    return code == SQLITE_OK ? REAL(file)->pMethods->xSync(REAL(file), SQLITE_SYNC_NORMAL) : code;
}

static int may_be_sealed(const uint8_t *source, sqlite3_int64 page) {
    static const uint8_t zeros[trailer_size];
    if (memcmp(source + content_size, zeros, trailer_size) != 0) {
        return 0;
    }
    return page > 0
        || (memcmp(source, magic, identity_size) == 0 && source[reserved_offset] == trailer_size);
}

int page_write(sqlite3_file *base, const void *source, int count, sqlite3_int64 offset) {
    codec_file *file = (codec_file *)base;
    sqlite3_int64 page = offset / page_size;
    // SQLite writes whole pages, and a database without the reserved bytes would lose some of its own.
    if (count != page_size || offset % page_size != 0 || !may_be_sealed(source, page)) {
        return SQLITE_IOERR_WRITE;
    }
    int code = codec_prepare(file, 1);
    if (code == SQLITE_OK && page > 0) {
        code = fill(file, page);
    }
    return code == SQLITE_OK ? store(file, source, page) : code;
}

int page_truncate(sqlite3_file *base, sqlite3_int64 size) {
    codec_file *file = (codec_file *)base;
    int code = codec_prepare(file, 1);
    if (code == SQLITE_OK) {
        code = fill(file, size / page_size);
    }
    return code == SQLITE_OK ? REAL(file)->pMethods->xTruncate(REAL(file), size) : code;
}
