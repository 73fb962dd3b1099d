// SPDX-License-Identifier: Apache-2.0
//
// What an engine is to engine.c, and what engine.c gives to each.

#ifndef DIVAN_ENGINE_H
#define DIVAN_ENGINE_H

#include "CScriptEngine.h"

/// An engine: the functions of CScriptEngine.h. Each has a `struct divan_javascript` of its own.
struct divan_engine {
    int (*load)(size_t memory);
    struct divan_javascript *(*make)(void);
    void (*release)(struct divan_javascript *);
    char *(*answer)(struct divan_javascript *, const char *line, size_t *count);
};

extern const struct divan_engine divan_javascriptcore, divan_duktape;

/// The text of prelude.js, which ends in a zero.
extern const char divan_prelude[];
extern const size_t divan_prelude_size;

/// A function of a library by its name.
struct divan_symbol {
    void **place;
    const char *name;
};

/// Finds functions in a library; 0 or an error.
int divan_find_symbols(void *library, const struct divan_symbol symbols[], size_t count);

/// Writes lines of the context that runs; see `divan_javascript_exchange`.
char *divan_exchange(const char *text, size_t count, enum divan_javascript_next next);

#endif
