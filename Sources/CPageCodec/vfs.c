// SPDX-License-Identifier: Apache-2.0
//
// The file system: what the default one does, with the content of files sealed.
//
// Locks, names and the shared memory of the log are the default one's. The shared memory holds the
// numbers of pages, their places in the log and its checksums; see docs/encryption.md.

#include "codec.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

enum { secret_size = 2 * key_size };

// MARK: Which file this is

// Reads the identity at the head of the database file, unless that is too short to have one.
static int read_identity(codec_file *database, uint8_t *identity, sqlite3_int64 *size) {
    int code = REAL(database)->pMethods->xFileSize(REAL(database), size);
    return code != SQLITE_OK || *size < identity_size
        ? code : REAL(database)->pMethods->xRead(REAL(database), identity, identity_size, 0);
}

// Called with the codec's mutex.
static int settle_identity(codec_file *file, int writes) {
    divan_codec *codec = file->codec;
    codec_file *database = file->cipher.role == role_main ? file : file->database;
    uint8_t identity[identity_size];
    sqlite3_int64 size = 0;
    int code = database ? read_identity(database, identity, &size) : SQLITE_OK;
    int is_found = size >= identity_size;
    if (code != SQLITE_OK || (!is_found && (codec->has_identity || !writes))) {
        return code;
    }
    if (is_found && codec->has_identity) {
        // Another file has come to lie where this one was.
        return memcmp(identity, codec->identity, identity_size) == 0 ? SQLITE_OK : SQLITE_CANTOPEN;
    }
    if (!is_found && size > 0) {
        // What is left of a file that had an identity.
        return SQLITE_NOTADB;
    }
    if (!is_found && !draw_random(identity, identity_size)) {
        return SQLITE_IOERR_WRITE;
    }
    if (!cipher_extract(codec->secret, identity, codec->secret + key_size)) {
        return SQLITE_IOERR_NOMEM;
    }
    memcpy(codec->identity, identity, identity_size);
    codec->has_identity = 1;
    return SQLITE_OK;
}

static int draw_secret(codec_file *file) {
    if (!file->own_secret) {
        file->own_secret = secret_create(key_size);
    }
    if (!file->own_secret || !draw_random(file->own_secret, key_size)) {
        return SQLITE_IOERR_NOMEM;
    }
    file->cipher.secret = file->own_secret;
    return SQLITE_OK;
}

int codec_prepare(codec_file *file, int writes) {
    if (file->cipher.secret) {
        return SQLITE_OK;
    }
    if (file->cipher.role == role_temporary) {
        return draw_secret(file);
    }
    divan_codec *codec = file->codec;
    pthread_mutex_lock(&codec->mutex);
    int code = settle_identity(file, writes);
    if (code == SQLITE_OK && codec->has_identity) {
        memcpy(file->cipher.identity, codec->identity, identity_size);
        file->cipher.secret = codec->secret + key_size;
    }
    pthread_mutex_unlock(&codec->mutex);
    return code;
}

// MARK: Files

static int codec_close(sqlite3_file *base) {
    codec_file *file = (codec_file *)base;
    int code = file->cipher.role == role_log ? log_flush(file) : SQLITE_OK;
    if (file->database && file->database->log == file) {
        file->database->log = NULL;
    }
    if (file->log) {
        file->log->database = NULL;
    }
    fetch_close(file);
    cipher_close(&file->cipher);
    secret_free(file->own_secret, key_size);
    OPENSSL_cleanse(file->plain, sizeof file->plain);
    int closed = REAL(file)->pMethods ? REAL(file)->pMethods->xClose(REAL(file)) : SQLITE_OK;
    return code == SQLITE_OK ? closed : code;
}

static int codec_sync(sqlite3_file *base, int flags) {
    codec_file *file = (codec_file *)base;
    int code = file->cipher.role == role_log ? log_flush(file) : SQLITE_OK;
    return code == SQLITE_OK ? REAL(file)->pMethods->xSync(REAL(file), flags) : code;
}

static int page_size_of_file(sqlite3_file *f, sqlite3_int64 *size) {
    return REAL(f)->pMethods->xFileSize(REAL(f), size);
}
static int codec_lock(sqlite3_file *f, int level) {
    return REAL(f)->pMethods->xLock(REAL(f), level);
}
static int codec_unlock(sqlite3_file *f, int level) {
    return REAL(f)->pMethods->xUnlock(REAL(f), level);
}
static int codec_check_reserved_lock(sqlite3_file *f, int *result) {
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), result);
}

static int codec_file_control(sqlite3_file *f, int operation, void *argument) {
    switch (operation) {
    case SQLITE_FCNTL_SIZE_HINT:
    case SQLITE_FCNTL_CHUNK_SIZE:
        // Room in the file that holds no sealed page would not be genuine.
        return SQLITE_OK;
    case SQLITE_FCNTL_MMAP_SIZE:
        // What lies in the file is not what a mapping must show: opened pages stand in for it.
        return fetch_limit((codec_file *)f, argument);
    default:
        return REAL(f)->pMethods->xFileControl(REAL(f), operation, argument);
    }
}

static int codec_sector_size(sqlite3_file *f) {
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}

static int codec_characteristics(sqlite3_file *f) {
    // Nothing that rests on units of another size than the codec's.
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f))
        & (SQLITE_IOCAP_POWERSAFE_OVERWRITE | SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN
           | SQLITE_IOCAP_IMMUTABLE);
}

// MARK: The log's shared memory

static int flush_log(sqlite3_file *f) {
    codec_file *log = ((codec_file *)f)->log;
    return log ? log_flush(log) : SQLITE_OK;
}

static int codec_shm_map(
    sqlite3_file *f, int index, int size, int extends, void volatile **region) {
    return REAL(f)->pMethods->xShmMap(REAL(f), index, size, extends, region);
}

static int codec_shm_lock(sqlite3_file *f, int first, int count, int flags) {
    // Letting go must succeed, whatever became of the header; the next lock then says it.
    int code = flush_log(f);
    if (code != SQLITE_OK && (flags & SQLITE_SHM_LOCK)) {
        ((codec_file *)f)->log->failure = SQLITE_OK;
        return code;
    }
    return REAL(f)->pMethods->xShmLock(REAL(f), first, count, flags);
}

static void codec_shm_barrier(sqlite3_file *f) {
    // Comes before others learn of a commit.
    (void)flush_log(f);
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}

static int codec_shm_unmap(sqlite3_file *f, int deletes) {
    return REAL(f)->pMethods->xShmUnmap(REAL(f), deletes);
}

// The third version has files looked at in place, which all but the database file decline.
static int no_fetch(sqlite3_file *f, sqlite3_int64 offset, int count, void **found) {
    (void)f, (void)offset, (void)count;
    *found = NULL;
    return SQLITE_OK;
}
static int no_unfetch(sqlite3_file *f, sqlite3_int64 offset, void *content) {
    (void)f, (void)offset, (void)content;
    return SQLITE_OK;
}

#define METHODS(read, write, truncate, size, fetch, unfetch)                                       \
    {                                                                                              \
        .iVersion = 3, .xFetch = fetch, .xUnfetch = unfetch, .xClose = codec_close, .xRead = read, .xWrite = write,                      \
        .xTruncate = truncate, .xSync = codec_sync, .xFileSize = size, .xLock = codec_lock,        \
        .xUnlock = codec_unlock, .xCheckReservedLock = codec_check_reserved_lock,                  \
        .xFileControl = codec_file_control, .xSectorSize = codec_sector_size,                      \
        .xDeviceCharacteristics = codec_characteristics, .xShmMap = codec_shm_map,                 \
        .xShmLock = codec_shm_lock, .xShmBarrier = codec_shm_barrier,                              \
        .xShmUnmap = codec_shm_unmap,                                                              \
    }

static const sqlite3_io_methods page_methods =
    METHODS(page_read, page_write, page_truncate, page_size_of_file, page_fetch, page_unfetch);
static const sqlite3_io_methods log_methods = METHODS(log_read, log_write, log_truncate, log_size, no_fetch, no_unfetch);
static const sqlite3_io_methods block_methods =
    METHODS(block_read, block_write, block_truncate, block_size, no_fetch, no_unfetch);

// MARK: Opening

static file_role role_of(int flags) {
    if (flags & SQLITE_OPEN_MAIN_DB) {
        return role_main;
    }
    if (flags & SQLITE_OPEN_WAL) {
        return role_log;
    }
    return flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL) ? role_journal
                                                                          : role_temporary;
}

static int codec_open(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out_flags) {
    divan_codec *codec = vfs->pAppData;
    codec_file *file = (codec_file *)base;
    memset(file, 0, sizeof *file);
    file->codec = codec;
    file->cipher.role = role_of(flags);
    file->held_frame = file->pending_frame = file->held_block = -1;
    file->real = (sqlite3_file *)(file + 1);
    file->real->pMethods = NULL;
    int code = codec->real->xOpen(codec->real, name, file->real, flags, out_flags);
    if (code != SQLITE_OK) {
        return code;
    }
    const sqlite3_io_methods *methods = &block_methods;
    if (file->cipher.role == role_main) {
        methods = &page_methods;
        code = codec_prepare(file, 0);
    } else if (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) {
        // SQLite gives the names of these to its database file only.
        file->database = (codec_file *)sqlite3_database_file_object(name);
    }
    if (file->cipher.role == role_log) {
        methods = &log_methods;
        file->database->log = file;
    }
    file->base.pMethods = methods;
    if (code == SQLITE_OK && methods == &block_methods) {
        sqlite3_int64 size = 0;
        code = block_size(base, &size);
    }
    if (code != SQLITE_OK) {
        codec_close(base);
        file->base.pMethods = NULL;
    }
    return code;
}

static int codec_delete(sqlite3_vfs *vfs, const char *name, int syncs) {
    sqlite3_vfs *real = ((divan_codec *)vfs->pAppData)->real;
    return real->xDelete(real, name, syncs);
}
static int codec_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    sqlite3_vfs *real = ((divan_codec *)vfs->pAppData)->real;
    return real->xAccess(real, name, flags, result);
}
static int codec_full_pathname(sqlite3_vfs *vfs, const char *name, int size, char *full) {
    sqlite3_vfs *real = ((divan_codec *)vfs->pAppData)->real;
    return real->xFullPathname(real, name, size, full);
}

// MARK: Codecs

static pthread_mutex_t number_mutex = PTHREAD_MUTEX_INITIALIZER;
static sqlite3_int64 last_number;

divan_codec *divan_codec_create(const uint8_t key[DIVAN_CODEC_KEY]) {
    // Registering needs SQLite ready, and so does the default file system.
    if (!cipher_is_available() || sqlite3_initialize() != SQLITE_OK) {
        return NULL;
    }
    divan_codec *codec = calloc(1, sizeof *codec);
    uint8_t *secret = codec ? secret_create(secret_size) : NULL;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    if (!secret || !real) {
        secret_free(secret, secret_size);
        free(codec);
        return NULL;
    }
    memcpy(secret, key, key_size);
    codec->secret = secret;
    codec->real = real;
    pthread_mutex_init(&codec->mutex, NULL);
    pthread_mutex_lock(&number_mutex);
    sqlite3_snprintf(sizeof codec->name, codec->name, "divan-codec-%lld", ++last_number);
    pthread_mutex_unlock(&number_mutex);

    // The clock, randomness and the like are the default one's.
    codec->vfs = *real;
    codec->vfs.iVersion = real->iVersion < 2 ? real->iVersion : 2;
    codec->vfs.szOsFile = (int)sizeof(codec_file) + real->szOsFile;
    codec->vfs.pNext = NULL;
    codec->vfs.zName = codec->name;
    codec->vfs.pAppData = codec;
    codec->vfs.xOpen = codec_open;
    codec->vfs.xDelete = codec_delete;
    codec->vfs.xAccess = codec_access;
    codec->vfs.xFullPathname = codec_full_pathname;
    if (sqlite3_vfs_register(&codec->vfs, 0) != SQLITE_OK) {
        divan_codec_free(codec);
        return NULL;
    }
    return codec;
}

const char *divan_codec_name(const divan_codec *codec) { return codec->name; }

void divan_codec_free(divan_codec *codec) {
    if (codec) {
        sqlite3_vfs_unregister(&codec->vfs);
        secret_free(codec->secret, secret_size);
        pthread_mutex_destroy(&codec->mutex);
        free(codec);
    }
}
