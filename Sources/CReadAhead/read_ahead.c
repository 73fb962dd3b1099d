// SPDX-License-Identifier: Apache-2.0
//
// A scan of a mapped file waits for memory, and not for the engine: the first look at each page is an exception of the
// processor's, by which the system enters it in the process's page table, and the first look at each of its lines is a
// wait of some hundred cycles. The processor sees by itself that memory is read in order, but not across pages, and
// not where the rows of a page lie in the opposite order, as they do in both engines' pages.
//
// So the lines of each page are asked for at once when the engine comes to it. While pages are read one after another,
// those of the next page are asked for, too, and the system is asked to enter many pages with one call.
//
//   - Pages follow one another where each is at most NEAR pages behind the front of the run: between the leaves of one
//     tree lie those of others that were written at the same time. A step back of a few pages, to such a tree, leaves
//     the run where it is.
//   - The call is made after a run of LONG pages, so that a short range pays for none of it. It may wait for the disk, as
//     the exceptions that it replaces would, for a quarter of a megabyte, and changes nothing that can be seen.
//   - An address behind the end of the file is asked for without harm: the processor forgets the request, and the system
//     says that there is nothing.

#include "creadahead.h"

#include <sys/mman.h>

enum { PAGE = DIVAN_READ_AHEAD_PAGE, LINE = 64, NEAR = 4, FAR = 64, LONG = 4, MANY = 64 };

void divan_read_ahead_move(divan_read_ahead *ahead, uintptr_t page, uintptr_t end) {
    uintptr_t front = ahead->front;
    int is_back = page <= front && front - page <= FAR * PAGE;
    int is_next = page > front && page - front <= NEAR * PAGE;
    ahead->now = page;
    // Asks for the lines of the page, and of the one that is likely to come.
    int length = is_next ? 2 * PAGE : PAGE;
    for (int at = 0; at < length; at += LINE) __builtin_prefetch((const char *)page + at);
    if (is_back) return;
    ahead->front = page;
    if (!is_next) {
        ahead->run = 0;
        ahead->until = 0;
        return;
    }
    if (++ahead->run < LONG) return;
#ifdef MADV_POPULATE_READ
    if (!end) end = UINTPTR_MAX;
    if (page + PAGE < ahead->until || page + PAGE >= end) return;
    uintptr_t extent = end - page < MANY * PAGE ? end - page : MANY * PAGE;
    ahead->until = page + extent;
    (void)madvise((void *)page, (size_t)extent, MADV_POPULATE_READ);
#endif
}
