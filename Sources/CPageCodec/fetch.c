// SPDX-License-Identifier: Apache-2.0
//
// Pages of the database file that are kept open for reading, so that SQLite can look at them where
// they are instead of copying them into its own cache.
//
// SQLite asks for a page in place when it may map the file into memory, which it believes to be doing.
// What it gets is a page of a table of opened pages; the sealed one is looked at in a mapping of the
// default file system's. A page that was opened before is still good if the epoch and the counter in
// the file are those that it had, since no two units ever have the same. So a reader needs no message
// when this or another process writes a page anew.
//
//      page 7 wanted ──► sealed page 7, mapped ──► its trailer
//                                                    │ the same as when slot 7 was opened?
//                         slots  7 mod n ────────────┴─ yes: that is it;  no: open it again
//
// Where a slot is in use for another page, or the page cannot be had in place, SQLite reads it in the
// ordinary way, and meets its errors there.

#include "codec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { mark_size = epoch_size + counter_size };

typedef struct {
    sqlite3_int64 page;  // 0 while there is none: page 1 is never asked for in place
    int references;
    uint8_t mark[mark_size];
} open_page;

struct open_pages {
    sqlite3_int64 count;
    uint8_t *content;
    open_page slots[];
};

static struct open_pages *make(sqlite3_int64 limit) {
    sqlite3_int64 count = limit / page_size;
    struct open_pages *pages =
        count > 0 ? calloc(1, sizeof *pages + (size_t)count * sizeof(open_page)) : NULL;
    if (!pages) {
        return NULL;
    }
    // Memory is only taken for the slots that are used.
    void *content = mmap(
        NULL, (size_t)(count * page_size), PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (content == MAP_FAILED) {
        free(pages);
        return NULL;
    }
    pages->count = count;
    pages->content = content;
    return pages;
}

void fetch_close(codec_file *file) {
    if (file->pages) {
        munmap(file->pages->content, (size_t)(file->pages->count * page_size));
        free(file->pages);
        file->pages = NULL;
    }
}

int fetch_limit(codec_file *file, sqlite3_int64 *limit) {
    sqlite3_int64 wanted = *limit;
    *limit = file->page_limit;
    if (wanted < 0 || wanted == file->page_limit || file->pages
        || file->cipher.role != role_main || REAL(file)->pMethods->iVersion < 3) {
        return SQLITE_OK;
    }
    file->page_limit = wanted;
    // However little is kept open, all of the file may be looked at.
    sqlite3_int64 mapped = wanted > 0 ? (sqlite3_int64)1 << 40 : 0;
    return REAL(file)->pMethods->xFileControl(REAL(file), SQLITE_FCNTL_MMAP_SIZE, &mapped);
}

// Opens a sealed page into a slot, unless that holds it already; 0 when it is not genuine.
static int fill(codec_file *file, open_page *slot, sqlite3_int64 page, const uint8_t *sealed) {
    uint8_t *content = file->pages->content + (slot - file->pages->slots) * page_size;
    // The trailer is taken once: what is compared must be what is opened.
    uint8_t trailer[trailer_size];
    memcpy(trailer, sealed + content_size, trailer_size);
    if (slot->page == page && memcmp(slot->mark, trailer, mark_size) == 0) {
        return 1;
    }
    if (slot->references > 0) {
        return 0;
    }
    slot->page = 0;
    unit_pieces pieces = {
        .source = {sealed}, .target = {content}, .count = {content_size}};
    if (cipher_open(&file->cipher, (uint64_t)page + 1, pieces, trailer) != SQLITE_OK) {
        return 0;
    }
    slot->page = page;
    memcpy(slot->mark, trailer, mark_size);
    return 1;
}

int page_fetch(sqlite3_file *base, sqlite3_int64 offset, int count, void **found) {
    codec_file *file = (codec_file *)base;
    sqlite3_int64 page = offset / page_size;
    *found = NULL;
    if (file->page_limit == 0 || page == 0 || count != page_size || offset % page_size != 0
        || codec_prepare(file, 0) != SQLITE_OK) {
        return SQLITE_OK;
    }
    if (!file->pages && !(file->pages = make(file->page_limit))) {
        return SQLITE_OK;
    }
    void *sealed = NULL;
    int code = REAL(file)->pMethods->xFetch(REAL(file), offset, count, &sealed);
    if (code != SQLITE_OK || !sealed) {
        return code;
    }
    open_page *slot = &file->pages->slots[page % file->pages->count];
    if (fill(file, slot, page, sealed)) {
        slot->references++;
        *found = file->pages->content + (slot - file->pages->slots) * page_size;
    }
    return REAL(file)->pMethods->xUnfetch(REAL(file), offset, sealed);
}

int page_unfetch(sqlite3_file *base, sqlite3_int64 offset, void *content) {
    codec_file *file = (codec_file *)base;
    if (!content) {
        // The file has changed: its mapping is to be made anew.
        return file->page_limit > 0 ? REAL(file)->pMethods->xUnfetch(REAL(file), 0, NULL) : SQLITE_OK;
    }
    if (file->pages) {
        file->pages->slots[offset / page_size % file->pages->count].references--;
    }
    return SQLITE_OK;
}
