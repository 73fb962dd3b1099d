// SPDX-License-Identifier: Apache-2.0

#include "engine.h"

#include <dlfcn.h>

const char divan_prelude[] = {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
#embed "prelude.js"
#pragma clang diagnostic pop
    , 0};
const size_t divan_prelude_size = sizeof divan_prelude - 1;

static const struct divan_engine *engine;

// The function of I/O, which is that of the context that runs: one thread uses all contexts, and none calls another.
static divan_javascript_exchange *exchange_lines;
static void *exchange_owner;

int divan_find_symbols(void *library, const struct divan_symbol symbols[], size_t count) {
    for (size_t index = 0; index < count; index++) {
        *symbols[index].place = dlsym(library, symbols[index].name);
        if (!*symbols[index].place) return DIVAN_JAVASCRIPT_BROKEN;
    }
    return 0;
}

char *divan_exchange(const char *text, size_t count, enum divan_javascript_next next) {
    return exchange_lines(text, count, next, exchange_owner);
}

int divan_javascript_load(enum divan_javascript_engine which, size_t memory) {
    engine = which == DIVAN_JAVASCRIPT_DUKTAPE ? &divan_duktape : &divan_javascriptcore;
    return engine->load(memory);
}

struct divan_javascript *divan_javascript_make(divan_javascript_exchange *exchange, void *owner) {
    exchange_lines = exchange;
    exchange_owner = owner;
    return engine->make();
}

void divan_javascript_release(struct divan_javascript *context) { engine->release(context); }

char *divan_javascript_answer(struct divan_javascript *context, const char *line, size_t *count) {
    return engine->answer(context, line, count);
}
