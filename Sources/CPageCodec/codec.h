// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the codec share.
//
//      vfs.c       the file system: opening, and what is passed on as it is
//      pages.c     the database file: a page is a unit
//      fetch.c     its pages, kept open for reading
//      log.c       the write-ahead log: a frame, which is a header and a page, is a unit
//      blocks.c    journals and temporary files, written at any offset: blocks are units
//      cipher.c    sealing and opening one unit
//      epochs.c    which key and nonce seal the next unit
//
// A unit is what is sealed as one: ciphertext and 40 bytes after it, its trailer.
//
//      0   16   epoch      random; names the key
//      16   6   random     drawn for this unit } the nonce, which
//      22   2   count      within the epoch    } no copy of the process shares
//      24  16   tag        proves content, place and file

#ifndef DIVAN_CODEC_H
#define DIVAN_CODEC_H

#include "cpagecodec.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <sqlite3.h>

enum {
    page_size = DIVAN_CODEC_PAGE,
    trailer_size = DIVAN_CODEC_RESERVED,
    content_size = page_size - trailer_size,
    key_size = DIVAN_CODEC_KEY,
    epoch_size = 16,
    counter_size = 8,
    random_size = 6,
    tag_size = 16,
    identity_size = 16,
    // The log: its header, and that of each frame, as SQLite has them.
    log_header_size = 32,
    frame_header_size = 24,
    frame_size = frame_header_size + page_size,
    // Keys of other openings that a file keeps at hand.
    slot_count = 64,
};

/// What a file is for. The numbers are part of the format.
typedef enum { role_main = 1, role_log = 2, role_journal = 3, role_temporary = 4 } file_role;

// MARK: cipher.c

/// A key made ready, and the opening that it belongs to.
typedef struct {
    uint8_t epoch[epoch_size];
    EVP_CIPHER_CTX *context;
} key_slot;

/// The epoch in which an open file seals.
typedef struct {
    uint8_t name[epoch_size];
    /// How many units were sealed in it.
    uint32_t count;
    /// When it began, in seconds of the system's clock.
    int64_t began;
    /// The process in which it began; see `process_mark`.
    uint64_t process;
} sealing_epoch;

/// What seals and opens the units of one open file. Used by one thread at a time.
typedef struct {
    /// What the keys are derived from: 32 bytes in memory of the codec's, or of this file's own. NULL until
    /// it is known which file this is; nothing is sealed before, and nothing is genuine.
    const uint8_t *secret;
    uint8_t identity[identity_size];
    file_role role;
    sealing_epoch epoch;
    /// Seals with the epoch's key; NULL before there is an epoch.
    EVP_CIPHER_CTX *sealing;
    key_slot slots[slot_count];
} cipher;

/// One or two pieces of memory that make a unit, in the order in which they are sealed.
typedef struct {
    const uint8_t *source[2];
    uint8_t *target[2];
    int count[2];
} unit_pieces;

/// Seals a unit. Answers an SQLite code.
int cipher_seal(cipher *cipher, uint64_t number, unit_pieces pieces, uint8_t *trailer);
/// Opens a unit; SQLITE_IOERR_DATA when it is not what was sealed, in this place, of this file, or when the
/// cipher has no secret.
int cipher_open(cipher *cipher, uint64_t number, unit_pieces pieces, const uint8_t *trailer);
void cipher_close(cipher *cipher);
int cipher_is_available(void);
/// HKDF's first step: 32 bytes out of the key and the file's identity.
int cipher_extract(const uint8_t *key, const uint8_t *identity, uint8_t *out);

// MARK: epochs.c

/// The moment and the process in which a unit is sealed.
typedef struct {
    int64_t seconds;
    uint32_t nanoseconds;
    uint64_t process;
} sealing_moment;

int moment_now(sealing_moment *moment);
/// Whether nothing more may be sealed in an epoch.
int epoch_is_over(const sealing_epoch *epoch, const sealing_moment *now);
/// Draws a new epoch; 0 when the system has no randomness.
int epoch_begin(sealing_epoch *epoch, const sealing_moment *now);
/// Uses up the epoch's next nonce: what the trailer keeps of it. 0 when the system has no randomness.
int epoch_next_nonce(sealing_epoch *epoch, const sealing_moment *now, uint8_t *out);
/// Random bytes of the system's own, at most 256; 0 when it has none.
int draw_random(uint8_t *out, size_t count);

// MARK: Secrets

/// Memory that is locked where that is permitted, and left out of core dumps.
uint8_t *secret_create(size_t count);
void secret_free(uint8_t *secret, size_t count);

// MARK: Files

struct divan_codec {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    char name[48];
    pthread_mutex_t mutex;
    /// The key, then what is derived from it and the identity.
    uint8_t *secret;
    /// Which file this is: read from it, or drawn for an empty one.
    uint8_t identity[identity_size];
    int has_identity;
};

typedef struct codec_file codec_file;
struct codec_file {
    sqlite3_file base;
    divan_codec *codec;
    sqlite3_file *real;
    cipher cipher;
    /// One unit as it lies in the file.
    uint8_t sealed[frame_size];

    /// And what it holds.
    uint8_t plain[frame_size];

    /// Of a database file its log, of a log and a journal its database file; NULL while there is none.
    codec_file *log, *database;

    // fetch.c
    struct open_pages *pages;
    sqlite3_int64 page_limit;

    // log.c
    /// The frame whose content is in `plain`, and the one whose header waits for its page; or -1.
    sqlite3_int64 held_frame, pending_frame;
    uint8_t pending_header[frame_header_size];
    /// The error that a header met when it was written late.
    int failure;

    // blocks.c
    uint8_t *own_secret;
    sqlite3_int64 held_block, size;
};

#define REAL(file) (((codec_file *)(file))->real)

/// Gives the file's cipher its secret, for which it must be known which file this is. The identity of an
/// empty database file is drawn when `writes` says so; else the cipher stays without a secret.
int codec_prepare(codec_file *file, int writes);

int page_read(sqlite3_file *file, void *target, int count, sqlite3_int64 offset);
int page_write(sqlite3_file *file, const void *source, int count, sqlite3_int64 offset);
int page_truncate(sqlite3_file *file, sqlite3_int64 size);

int page_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **found);
int page_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *content);
/// Sets how many bytes of pages are kept open, and gives what it was; less than 0 only asks.
int fetch_limit(codec_file *file, sqlite3_int64 *limit);
void fetch_close(codec_file *file);

int log_read(sqlite3_file *file, void *target, int count, sqlite3_int64 offset);
int log_write(sqlite3_file *file, const void *source, int count, sqlite3_int64 offset);
int log_truncate(sqlite3_file *file, sqlite3_int64 size);
int log_size(sqlite3_file *file, sqlite3_int64 *size);
/// Writes the header that waits for its page, if there is one.
int log_flush(codec_file *file);

int block_read(sqlite3_file *file, void *target, int count, sqlite3_int64 offset);
int block_write(sqlite3_file *file, const void *source, int count, sqlite3_int64 offset);
int block_truncate(sqlite3_file *file, sqlite3_int64 size);
int block_size(sqlite3_file *file, sqlite3_int64 *size);

#endif
