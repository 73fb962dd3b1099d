// SPDX-License-Identifier: Apache-2.0
//
// The engine that runs JavaScript: JavaScriptCore, by its public C interface. Its library is loaded when it is asked for, so a program
// needs it neither to be linked nor to run.
//
// A context has global objects of its own, and begins with the text in prelude.js, which makes it a server of CouchDB's query-server
// protocol: a line goes in, and a line comes out. Nothing but texts passes between contexts. One thread at a time uses all of this.

#ifndef DIVAN_CJAVASCRIPTCORE_H
#define DIVAN_CJAVASCRIPTCORE_H

#include <stddef.h>

enum {
    /// The library is not there.
    DIVAN_JAVASCRIPT_MISSING = -1,
    /// The library does not have the interface that is used here.
    DIVAN_JAVASCRIPT_BROKEN = -2,
};

/// Loads the library and makes its virtual machine; 0 or an error. The environment has the settings of JavaScriptCore.
int divan_javascript_load(void);

/// A context.
struct divan_javascript;

/// Writes lines and returns the next one that is read, without its end and allocated by malloc; the context frees it. When it is the
/// last, it does not return.
typedef char *divan_javascript_exchange(const char *text, size_t count, int is_last, void *owner);

/// Makes a context; NULL if the prelude fails in this engine.
struct divan_javascript *divan_javascript_make(divan_javascript_exchange *exchange, void *owner);

/// Forgets a context and all that was made in it.
void divan_javascript_release(struct divan_javascript *context);

/// What a context answers to a line, which ends in a zero: one line, or several, allocated by malloc. NULL when memory was not enough.
char *divan_javascript_answer(struct divan_javascript *context, const char *line, size_t *count);

#endif
