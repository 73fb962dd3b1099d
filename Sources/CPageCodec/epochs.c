// SPDX-License-Identifier: Apache-2.0
//
// Which key and nonce seal the next unit.
//
// An epoch is 16 random bytes, and its units are counted. A nonce is 6 random bytes, drawn for the one
// unit, and the count. In one process the count alone makes each nonce of an epoch differ from the
// others. The random bytes are for copies of a running process: a snapshot of a virtual machine that is
// resumed twice goes on in both copies with the same epoch and the same count, and neither can know.
//
//      k copies, n units each in that epoch    a nonce comes twice with probability
//                                              below k (k - 1) / 2 * n / 2^48
//      n <= 65,536, k = 2                      2^-32
//
// An epoch ends before its count wraps, after ten minutes, when the clock goes backwards, and in the
// child of a fork, which can be noticed: the system wipes a page of memory for it.
//
// All random bytes come from the system each time. A generator in the process, such as OpenSSL's, is
// copied with the process and gives the copies the same bytes.

#ifdef __linux__
#define _DEFAULT_SOURCE
#endif

#include "codec.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

enum { largest_count = 65536, longest_seconds = 600 };

int draw_random(uint8_t *out, size_t count) { return getentropy(out, count) == 0; }

// MARK: Processes

static pthread_once_t marked = PTHREAD_ONCE_INIT;
// In a page of its own that is all zeros in the child of a fork; NULL where the system cannot do that.
static _Atomic uint64_t *mark;

static void make_mark(void) {
#ifdef MADV_WIPEONFORK
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0) {
        mark = page;
    }
#endif
}

// A number that a process does not share with its parent; 0 when the system has no randomness.
static uint64_t process_mark(void) {
    pthread_once(&marked, make_mark);
    if (!mark) {
        return (uint64_t)getpid();
    }
    uint64_t found = atomic_load_explicit(mark, memory_order_relaxed);
    uint64_t drawn = 0;
    if (found != 0 || !draw_random((uint8_t *)&drawn, sizeof drawn)) {
        return found;
    }
    drawn |= 1;
    // Another thread may have been faster; then `found` becomes what it drew.
    return atomic_compare_exchange_strong(mark, &found, drawn) ? drawn : found;
}

int moment_now(sealing_moment *moment) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return 0;
    }
    *moment = (sealing_moment){now.tv_sec, (uint32_t)now.tv_nsec, process_mark()};
    return moment->process != 0;
}

// MARK: Epochs

int epoch_is_over(const sealing_epoch *epoch, const sealing_moment *now) {
    return epoch->count >= largest_count || epoch->process != now->process
        || now->seconds < epoch->began
        // Unsigned, since a signed difference of any two times may overflow.
        || (uint64_t)now->seconds - (uint64_t)epoch->began >= longest_seconds;
}

int divan_codec_epoch_is_over(uint32_t count, int64_t began, int64_t now) {
    sealing_epoch epoch = {.count = count, .began = began};
    sealing_moment moment = {.seconds = now};
    return epoch_is_over(&epoch, &moment);
}

int epoch_begin(sealing_epoch *epoch, const sealing_moment *now) {
    epoch->count = 0;
    epoch->began = now->seconds;
    epoch->process = now->process;
    return draw_random(epoch->name, epoch_size);
}

int epoch_next_nonce(sealing_epoch *epoch, const sealing_moment *now, uint8_t *out) {
    if (!draw_random(out, random_size)) {
        return 0;
    }
    // Costs nothing, and helps where a virtual machine cannot tell its system that it was copied, whose
    // random bytes then are copied, too.
    for (int i = 0; i < 4; i++) {
        out[i] ^= (uint8_t)(now->nanoseconds >> (8 * i));
    }
    out[random_size] = (uint8_t)(epoch->count >> 8);
    out[random_size + 1] = (uint8_t)epoch->count;
    // A count is used up before its unit is sealed, whatever becomes of that.
    epoch->count++;
    return 1;
}
