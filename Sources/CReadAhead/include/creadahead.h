// SPDX-License-Identifier: Apache-2.0
//
// Brings the pages of a mapped file near before they are read, while they are read one after another.

#ifndef DIVAN_CREADAHEAD_H
#define DIVAN_CREADAHEAD_H

#include <stddef.h>
#include <stdint.h>

// Where one reader of a mapping is. All zeros at the start, and whenever the file is mapped anew.
typedef struct {
    // The page that was read last.
    uintptr_t now;
    // The last page of the run.
    uintptr_t front;
    // The first page that is not known to be in the process's page table.
    uintptr_t until;
    // How many pages the run has behind its first one.
    unsigned run;
} divan_read_ahead;

// The page size of both engines.
enum { DIVAN_READ_AHEAD_PAGE = 4096 };

void divan_read_ahead_move(divan_read_ahead *ahead, uintptr_t page, uintptr_t end);

// Tells that an address is about to be read. The mapping ends at the address `end`, or before it where its file was cut; 0
// where it is longer than its file in any case.
static inline void divan_read_ahead_at(divan_read_ahead *ahead, const void *address, uintptr_t end) {
    uintptr_t page = (uintptr_t)address & ~(uintptr_t)(DIVAN_READ_AHEAD_PAGE - 1);
    if (page != ahead->now) divan_read_ahead_move(ahead, page, end);
}

#endif
