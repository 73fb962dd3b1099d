// SPDX-License-Identifier: Apache-2.0
//
// The write-ahead log: its header is a unit, and each frame.
//
//      0       32      the log's header, sealed        SQLite sees   0       32   header
//      32      40      its trailer                                   32      24   header of frame 1
//      72      24      the header of frame 1, sealed                 56    4096   page of frame 1
//      96      4056    its page, sealed                              4152    24   header of frame 2
//      4152    40      the trailer of both                           ...
//      4192    24      the header of frame 2, sealed
//      ...
//
// So all after the log's header lies 40 bytes further on than SQLite believes, and a frame's trailer
// lies in the bytes that its page reserves.
//
// ## Writing
//
// SQLite writes the header of a frame, then its page. The header waits for the page, so that both are
// sealed and written at once. A page that a transaction writes a second time is written alone, in the
// old frame; before the commit SQLite then reads each frame from there on, as a whole, and writes its
// header alone, with a new checksum. A header alone after its frame was read as a whole is therefore
// written at once. Should one ever wait for a page that does not come, it is written before anything
// else happens, and before another process can learn of a commit: `log_flush`.
//
// ## Reading
//
// A page is read alone, and must be genuine. A frame is read as a whole when a log is recovered after
// a crash, and there one that is not genuine is where the log ends: a power loss may have torn it.
// SQLite's own checksums say the same, which are part of what is sealed.

#include "codec.h"

#include <string.h>

enum { header_unit = log_header_size + trailer_size };

static sqlite3_int64 place_of(sqlite3_int64 frame) {
    return header_unit + frame * frame_size;
}

// The page first: it begins where a block of the cipher does, which is faster.
static unit_pieces pieces_of(const uint8_t *source, uint8_t *target) {
    return (unit_pieces){
        .source = {source + frame_header_size, source},
        .target = {target + frame_header_size, target},
        .count = {content_size, frame_header_size}};
}

// MARK: Frames

// Reads a frame into `plain`, where it is held.
static int load(codec_file *file, sqlite3_int64 frame) {
    if (file->held_frame == frame) {
        return SQLITE_OK;
    }
    file->held_frame = -1;
    int code = REAL(file)->pMethods->xRead(
        REAL(file), file->sealed, frame_size, place_of(frame));
    if (code == SQLITE_OK) {
        code = cipher_open(
            &file->cipher, (uint64_t)frame + 1, pieces_of(file->sealed, file->plain),
            file->sealed + frame_size - trailer_size);
    }
    memset(file->plain + frame_size - trailer_size, 0, trailer_size);
    if (code == SQLITE_OK) {
        file->held_frame = frame;
    }
    return code;
}

// Seals a frame out of two places and writes it.
static int store(
    codec_file *file, sqlite3_int64 frame, const uint8_t *header, const uint8_t *page) {
    static const uint8_t zeros[trailer_size];
    if (memcmp(page + content_size, zeros, trailer_size) != 0) {
        return SQLITE_IOERR_WRITE;
    }
    unit_pieces pieces = {
        .source = {page, header},
        .target = {file->sealed + frame_header_size, file->sealed},
        .count = {content_size, frame_header_size}};
    int code = cipher_seal(
        &file->cipher, (uint64_t)frame + 1, pieces, file->sealed + frame_size - trailer_size);
    if (code != SQLITE_OK) {
        return code;
    }
    return REAL(file)->pMethods->xWrite(
        REAL(file), file->sealed, frame_size, place_of(frame));
}

// Changes a part of a frame, whose rest stays; where there is none yet, the rest is zeros.
static int patch(
    codec_file *file, sqlite3_int64 frame, int within, const void *bytes, int count) {
    int code = load(file, frame);
    if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_DATA) {
        memset(file->plain, 0, frame_size);
        code = SQLITE_OK;
    }
    if (code != SQLITE_OK) {
        return code;
    }
    memcpy(file->plain + within, bytes, (size_t)count);
    file->held_frame = -1;
    return store(file, frame, file->plain, file->plain + frame_header_size);
}

int log_flush(codec_file *file) {
    if (file->pending_frame >= 0) {
        sqlite3_int64 frame = file->pending_frame;
        file->pending_frame = -1;
        file->failure = patch(file, frame, 0, file->pending_header, frame_header_size);
    }
    return file->failure;
}

// MARK: The log's header

static int read_header(codec_file *file, uint8_t *header) {
    int code = REAL(file)->pMethods->xRead(REAL(file), file->sealed, header_unit, 0);
    if (code == SQLITE_OK) {
        unit_pieces pieces = {
            .source = {file->sealed}, .target = {header}, .count = {log_header_size}};
        code = cipher_open(&file->cipher, 0, pieces, file->sealed + log_header_size);
    }
    return code;
}

static int write_header(codec_file *file, const uint8_t *header) {
    unit_pieces pieces = {
        .source = {header}, .target = {file->sealed}, .count = {log_header_size}};
    int code = cipher_seal(&file->cipher, 0, pieces, file->sealed + log_header_size);
    if (code != SQLITE_OK) {
        return code;
    }
    return REAL(file)->pMethods->xWrite(REAL(file), file->sealed, header_unit, 0);
}

// MARK: What SQLite calls

static int read_part(codec_file *file, uint8_t *out, sqlite3_int64 offset, int count) {
    if (offset < log_header_size) {
        uint8_t header[log_header_size];
        int code = read_header(file, header);
        if (code == SQLITE_OK) {
            memcpy(out, header + offset, (size_t)count);
        }
        return code;
    }
    sqlite3_int64 frame = (offset - log_header_size) / frame_size;
    int within = (int)((offset - log_header_size) % frame_size);
    int code = load(file, frame);
    if (code == SQLITE_OK) {
        memcpy(out, file->plain + within, (size_t)count);
    }
    return code;
}

// Reads a page straight to where it is wanted.
static int read_page(codec_file *file, uint8_t *out, sqlite3_int64 frame) {
    if (file->held_frame == frame) {
        memcpy(out, file->plain + frame_header_size, page_size);
        return SQLITE_OK;
    }
    uint8_t header[frame_header_size];
    int code = REAL(file)->pMethods->xRead(
        REAL(file), file->sealed, frame_size, place_of(frame));
    if (code == SQLITE_OK) {
        unit_pieces pieces = {
            .source = {file->sealed + frame_header_size, file->sealed},
            .target = {out, header},
            .count = {content_size, frame_header_size}};
        code = cipher_open(
            &file->cipher, (uint64_t)frame + 1, pieces, file->sealed + frame_size - trailer_size);
    }
    if (code == SQLITE_OK) {
        memset(out + content_size, 0, trailer_size);
    } else {
        memset(out, 0, page_size);
    }
    return code;
}

int log_read(sqlite3_file *base, void *target, int count, sqlite3_int64 offset) {
    codec_file *file = (codec_file *)base;
    uint8_t *out = target;
    int code = codec_prepare(file, 0);
    if (code == SQLITE_OK) {
        code = log_flush(file);
    }
    sqlite3_int64 within = offset < log_header_size ? 0 : (offset - log_header_size) % frame_size;
    if (code == SQLITE_OK && count == page_size && within == frame_header_size) {
        // Another process may have written this frame anew since it was held.
        file->held_frame = -1;
        return read_page(file, out, (offset - log_header_size) / frame_size);
    }
    file->held_frame = -1;
    for (int done = 0; code == SQLITE_OK && done < count;) {
        sqlite3_int64 at = offset + done;
        int room = at < log_header_size
            ? (int)(log_header_size - at)
            : (int)(frame_size - (at - log_header_size) % frame_size);
        int part = room < count - done ? room : count - done;
        code = read_part(file, out + done, at, part);
        if (code == SQLITE_OK) {
            done += part;
        }
    }
    if (code == SQLITE_IOERR_DATA) {
        // The end of a log that is recovered; its checksums do not fit zeros.
        memset(out, 0, (size_t)count);
        return SQLITE_OK;
    }
    if (code == SQLITE_IOERR_SHORT_READ) {
        memset(out, 0, (size_t)count);
    }
    return code;
}

static int write_part(codec_file *file, const uint8_t *source, sqlite3_int64 offset, int count) {
    if (offset < log_header_size) {
        uint8_t header[log_header_size] = {0};
        if (count < log_header_size) {
            int code = read_header(file, header);
            if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ && code != SQLITE_IOERR_DATA) {
                return code;
            }
        }
        memcpy(header + offset, source, (size_t)count);
        return write_header(file, header);
    }
    sqlite3_int64 frame = (offset - log_header_size) / frame_size;
    int within = (int)((offset - log_header_size) % frame_size);
    if (within == 0 && count == frame_header_size && file->held_frame != frame) {
        memcpy(file->pending_header, source, frame_header_size);
        file->pending_frame = frame;
        return SQLITE_OK;
    }
    return patch(file, frame, within, source, count);
}

int log_write(sqlite3_file *base, const void *source, int count, sqlite3_int64 offset) {
    codec_file *file = (codec_file *)base;
    const uint8_t *bytes = source;
    // A log follows the first page: an identity drawn for it would be in no file, and what it seals lost.
    int code = codec_prepare(file, 0);
    if (code != SQLITE_OK) {
        return code;
    }
    sqlite3_int64 pending = file->pending_frame;
    if (pending >= 0 && count == page_size
        && offset == log_header_size + pending * frame_size + frame_header_size) {
        file->pending_frame = -1;
        file->held_frame = -1;
        return store(file, pending, file->pending_header, bytes);
    }
    code = log_flush(file);
    for (int done = 0; code == SQLITE_OK && done < count;) {
        sqlite3_int64 at = offset + done;
        int room = at < log_header_size
            ? (int)(log_header_size - at)
            : (int)(frame_size - (at - log_header_size) % frame_size);
        int part = room < count - done ? room : count - done;
        code = write_part(file, bytes + done, at, part);
        done += part;
    }
    file->held_frame = -1;
    return code;
}

int log_truncate(sqlite3_file *base, sqlite3_int64 size) {
    codec_file *file = (codec_file *)base;
    int code = log_flush(file);
    file->held_frame = -1;
    if (code != SQLITE_OK) {
        return code;
    }
    return REAL(file)->pMethods->xTruncate(REAL(file), size > 0 ? size + trailer_size : 0);
}

int log_size(sqlite3_file *base, sqlite3_int64 *size) {
    codec_file *file = (codec_file *)base;
    int code = log_flush(file);
    if (code == SQLITE_OK) {
        code = REAL(file)->pMethods->xFileSize(REAL(file), size);
        *size = *size > trailer_size ? *size - trailer_size : 0;
    }
    return code;
}
