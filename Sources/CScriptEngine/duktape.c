// SPDX-License-Identifier: Apache-2.0
//
// Duktape, an engine of 0.3 MB. Each context is a heap of its own; all heaps take their memory from one allowance.

#include "engine.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// MARK: The library

// The interface as far as it is used (duktape.h).
typedef struct opaque_heap heap;
typedef int native_function(heap *);
typedef int protected_function(heap *, void *);

enum { TWO_TEXTS_OF_EVAL = 2 | 1 << 3, ANY_COUNT = -1, GENERIC_ERROR = 1 };

static struct {
    heap *(*make_heap)(
        void *(*allocate)(void *, size_t), void *(*reallocate)(void *, void *, size_t), void (*release)(void *, void *), void *owner,
        void (*fail)(void *, const char *));
    void (*release_heap)(heap *);
    int (*protect)(heap *, protected_function *, void *, int arguments, int results);
    int (*compile)(heap *, const char *, size_t, unsigned flags);
    void (*call)(heap *, int arguments);
    void (*set_global)(heap *);
    const char *(*push_text)(heap *, const char *, size_t);
    int (*push_function)(heap *, native_function *, int arguments);
    void (*push_copy)(heap *, int index);
    const char *(*get_text)(heap *, int index, size_t *count);
    unsigned (*boolean_of)(heap *, int index);
    int (*get_top)(heap *);
    void (*set_top)(heap *, int count);
    void (*throw_error)(heap *, int code, const char *file, int line, const char *format, ...);
} engine;

static void *open_library(void) {
#ifdef __APPLE__
    static const char *const names[] = {"libduktape.207.dylib", "libduktape.206.dylib"};
#else
    static const char *const names[] = {"libduktape.so.207", "libduktape.so.206"};
#endif
    void *handle = NULL;
    for (size_t index = 0; !handle && index < sizeof names / sizeof names[0]; index++) handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

// MARK: Memory

// What all heaps may have, and what they have.
static size_t most, used;

// So much more they may have for each context: a context takes 0.4 MB before it runs scripts.
enum { CONTEXT_SHARE = 1 << 20 };

// What stands before each block.
union head {
    size_t size;
    max_align_t alignment;
};

static void *reallocate(void *owner, void *block, size_t size) {
    (void)owner;
    union head *old = block ? (union head *)block - 1 : NULL;
    const size_t known = old ? old->size : 0;
    if (size > most || used - known > most - size) return NULL;
    union head *made = realloc(old, sizeof *made + size);
    if (!made) return NULL;
    used += size - known;
    made->size = size;
    return made + 1;
}

static void *allocate(void *owner, size_t size) { return size == 0 ? NULL : reallocate(owner, NULL, size); }

static void release(void *owner, void *block) {
    (void)owner;
    if (!block) return;
    union head *old = (union head *)block - 1;
    used -= old->size;
    free(old);
}

static void *reallocate_or_release(void *owner, void *block, size_t size) {
    if (size > 0) return reallocate(owner, block, size);
    release(owner, block);
    return NULL;
}

// An error outside of all that catches one: there is no memory to make the error with.
static void fail(void *owner, const char *message) {
    (void)owner, (void)message;
    _exit(DIVAN_JAVASCRIPT_EXHAUSTED);
}

static int load(size_t memory) {
    void *handle = open_library();
    if (!handle) return DIVAN_JAVASCRIPT_MISSING;
    most = memory;
    const struct divan_symbol symbols[] = {
        {(void **)&engine.make_heap, "duk_create_heap"},
        {(void **)&engine.release_heap, "duk_destroy_heap"},
        {(void **)&engine.protect, "duk_safe_call"},
        {(void **)&engine.compile, "duk_compile_raw"},
        {(void **)&engine.call, "duk_call"},
        {(void **)&engine.set_global, "duk_set_global_object"},
        {(void **)&engine.push_text, "duk_push_lstring"},
        {(void **)&engine.push_function, "duk_push_c_function"},
        {(void **)&engine.push_copy, "duk_dup"},
        {(void **)&engine.get_text, "duk_get_lstring"},
        {(void **)&engine.boolean_of, "duk_to_boolean"},
        {(void **)&engine.get_top, "duk_get_top"},
        {(void **)&engine.set_top, "duk_set_top"},
        {(void **)&engine.throw_error, "duk_error_raw"},
    };
    return divan_find_symbols(handle, symbols, sizeof symbols / sizeof symbols[0]);
}

// MARK: Texts

// Duktape writes a character beyond U+FFFF as its two surrogates, of three bytes each, where UTF-8 has four bytes (CESU-8).
enum { REPLACEMENT = 0xFFFD };

static char *put(char *out, unsigned character) {
    if (character < 0x80) {
        *out++ = (char)character;
    } else if (character < 0x800) {
        *out++ = (char)(0xC0 | character >> 6);
        *out++ = (char)(0x80 | (character & 0x3F));
    } else {
        if (character < 0x10000) {
            *out++ = (char)(0xE0 | character >> 12);
        } else {
            *out++ = (char)(0xF0 | character >> 18);
            *out++ = (char)(0x80 | (character >> 12 & 0x3F));
        }
        *out++ = (char)(0x80 | (character >> 6 & 0x3F));
        *out++ = (char)(0x80 | (character & 0x3F));
    }
    return out;
}

// The character at a byte, which it steps over; a byte that begins none is U+FFFD.
static unsigned take(const unsigned char **bytes, const unsigned char *end) {
    const unsigned char *at = (*bytes)++;
    if (at[0] < 0x80) return at[0];
    const int more = at[0] >= 0xF0 ? 3 : at[0] >= 0xE0 ? 2 : 1;
    if (at[0] < 0xC2 || at[0] > 0xF4 || end - at <= more) return REPLACEMENT;
    unsigned character = at[0] & (0x3Fu >> more);
    for (int index = 1; index <= more; index++) {
        if ((at[index] & 0xC0) != 0x80) return REPLACEMENT;
        character = character << 6 | (at[index] & 0x3F);
    }
    const unsigned least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
    if (character < least || character > 0x10FFFF) return REPLACEMENT;
    *bytes = at + more + 1;
    return character;
}

static int is_surrogate(unsigned character, unsigned first) { return (character & 0xFFFFFC00) == first; }

// The character at a byte of a text of the engine; half a character is U+FFFD.
static unsigned take_pair(const unsigned char **bytes, const unsigned char *end) {
    const unsigned high = take(bytes, end);
    if (is_surrogate(high, 0xD800) && *bytes < end) {
        const unsigned char *next = *bytes;
        const unsigned low = take(&next, end);
        if (is_surrogate(low, 0xDC00)) {
            *bytes = next;
            return 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
        }
    }
    return (high & 0xFFFFF800) == 0xD800 ? REPLACEMENT : high;
}

static size_t count_ascii(const char *text, size_t count) {
    size_t index = 0;
    for (uint64_t word; index + sizeof word <= count; index += sizeof word) {
        memcpy(&word, text + index, sizeof word);
        if (word & 0x8080808080808080u) break;
    }
    while (index < count && (unsigned char)text[index] < 0x80) index++;
    return index;
}

// Pushes a text of UTF-8; false when memory is not enough.
static int push(heap *heap, const char *text, size_t count) {
    const size_t plain = count_ascii(text, count);
    if (plain == count) {
        engine.push_text(heap, text, count);
        return 1;
    }
    // A byte that begins no character becomes three.
    char *made = malloc(3 * count);
    if (!made) return 0;
    memcpy(made, text, plain);
    char *out = made + plain;
    const unsigned char *at = (const unsigned char *)text + plain, *end = (const unsigned char *)text + count;
    while (at < end) {
        const unsigned character = take(&at, end);
        if (character < 0x10000) {
            out = put(out, is_surrogate(character & ~0x400u, 0xD800) ? REPLACEMENT : character);
        } else {
            out = put(out, 0xD7C0 + (character >> 10));
            out = put(out, 0xDC00 | (character & 0x3FF));
        }
    }
    engine.push_text(heap, made, (size_t)(out - made));
    free(made);
    return 1;
}

// The text at an index in UTF-8, allocated by malloc; NULL when there is none, or memory is not enough.
static char *text_at(heap *heap, int index, size_t *count) {
    size_t length = 0;
    const char *text = engine.get_text(heap, index, &length);
    char *made = text ? malloc(length + 1) : NULL;
    if (!made) return NULL;
    const size_t plain = count_ascii(text, length);
    memcpy(made, text, plain);
    char *out = made + plain;
    const unsigned char *at = (const unsigned char *)text + plain, *end = (const unsigned char *)text + length;
    while (at < end) out = put(out, take_pair(&at, end));
    *count = (size_t)(out - made);
    return made;
}

// MARK: Contexts

struct divan_javascript {
    // Its stack has the function that answers, and nothing else between calls.
    heap *heap;
};

static void throw_exhausted(heap *heap) { engine.throw_error(heap, GENERIC_ERROR, NULL, 0, "There is no memory for the line."); }

// The function `exchange(text, isLast)` of the prelude.
static int run_exchange(heap *heap) {
    size_t count = 0;
    char *text = text_at(heap, 0, &count);
    if (!text) throw_exhausted(heap);
    enum divan_javascript_next next = DIVAN_JAVASCRIPT_READS;
    if (engine.get_top(heap) > 1) next = engine.boolean_of(heap, 1) ? DIVAN_JAVASCRIPT_ENDS : DIVAN_JAVASCRIPT_GOES_ON;
    char *line = divan_exchange(text, count, next);
    free(text);
    if (!line) return 0;
    const int is_pushed = push(heap, line, strlen(line));
    free(line);
    if (!is_pushed) throw_exhausted(heap);
    return 1;
}

// The function `replaceGlobal(object)` of the prelude.
static int replace_global(heap *heap) {
    engine.set_global(heap);
    return 0;
}

// The function `program(text)` of the prelude.
static int compile_program(heap *heap) {
    static const char name[] = "script";
    engine.push_text(heap, name, sizeof name - 1);
    engine.compile(heap, NULL, 0, TWO_TEXTS_OF_EVAL);
    return 1;
}

static int begin(heap *heap, void *unused) {
    (void)unused;
    engine.push_function(heap, compile_program, 1);
    engine.push_text(heap, divan_prelude, divan_prelude_size);
    engine.call(heap, 1);
    engine.call(heap, 0);
    engine.push_function(heap, run_exchange, ANY_COUNT);
    engine.push_function(heap, replace_global, 1);
    engine.push_function(heap, compile_program, 1);
    engine.call(heap, 3);
    return 1;
}

static void release_context(struct divan_javascript *context) {
    if (context->heap) engine.release_heap(context->heap);
    most -= CONTEXT_SHARE;
    free(context);
}

static struct divan_javascript *make(void) {
    struct divan_javascript *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    most += CONTEXT_SHARE;
    made->heap = engine.make_heap(allocate, reallocate_or_release, release, NULL, fail);
    if (made->heap && engine.protect(made->heap, begin, NULL, 0, 1) == 0) return made;
    release_context(made);
    return NULL;
}

struct exchange {
    const char *line;
    char *text;
    size_t count;
};

static int run_answer(heap *heap, void *argument) {
    struct exchange *exchange = argument;
    engine.push_copy(heap, 0);
    if (!push(heap, exchange->line, strlen(exchange->line))) throw_exhausted(heap);
    engine.call(heap, 1);
    exchange->text = text_at(heap, -1, &exchange->count);
    return 1;
}

static char *answer_line(struct divan_javascript *context, const char *line, size_t *count) {
    struct exchange exchange = {.line = line};
    engine.protect(context->heap, run_answer, &exchange, 0, 1);
    engine.set_top(context->heap, 1);
    *count = exchange.count;
    return exchange.text;
}

const struct divan_engine divan_duktape = {load, make, release_context, answer_line};
