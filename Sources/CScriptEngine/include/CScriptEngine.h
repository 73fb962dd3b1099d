// SPDX-License-Identifier: Apache-2.0
//
// The engines that run JavaScript, by their public C interfaces: JavaScriptCore, and Duktape for small machines. Their libraries are
// loaded when they are asked for, so a program needs neither to be linked nor to run.
//
// A context has global objects of its own, and begins with the text in prelude.js, which makes it a server of CouchDB's query-server
// protocol: a line goes in, and a line comes out. Nothing but texts passes between contexts. One thread at a time uses all of this.

#ifndef DIVAN_CSCRIPTENGINE_H
#define DIVAN_CSCRIPTENGINE_H

#include <stddef.h>

enum divan_javascript_engine {
    DIVAN_JAVASCRIPT_JAVASCRIPTCORE,
    DIVAN_JAVASCRIPT_DUKTAPE,
};

enum {
    /// The library is not there.
    DIVAN_JAVASCRIPT_MISSING = -1,
    /// The library does not have the interface that is used here.
    DIVAN_JAVASCRIPT_BROKEN = -2,
    /// The status by which a process ends that has no memory to go on.
    DIVAN_JAVASCRIPT_EXHAUSTED = 3,
};

/// Loads the library of an engine, which all contexts have from now on; 0 or an error.
///
/// The environment has the settings of JavaScriptCore. In Duktape scripts of all contexts together get no more than so many bytes.
int divan_javascript_load(enum divan_javascript_engine engine, size_t memory);

/// A context.
struct divan_javascript;

/// What follows when lines have been written.
enum divan_javascript_next {
    /// The next line is read.
    DIVAN_JAVASCRIPT_READS,
    /// The process ends.
    DIVAN_JAVASCRIPT_ENDS,
    /// The context goes on.
    DIVAN_JAVASCRIPT_GOES_ON,
};

/// Writes lines. Where the next line is read, it is returned without its end, allocated by malloc, and the context frees it; where the
/// context goes on, NULL is.
typedef char *divan_javascript_exchange(const char *text, size_t count, enum divan_javascript_next next, void *owner);

/// Makes a context; NULL if the prelude fails in this engine.
struct divan_javascript *divan_javascript_make(divan_javascript_exchange *exchange, void *owner);

/// Forgets a context and all that was made in it.
void divan_javascript_release(struct divan_javascript *context);

/// What a context answers to a line, which ends in a zero: one line, or several, allocated by malloc. NULL when memory was not enough.
char *divan_javascript_answer(struct divan_javascript *context, const char *line, size_t *count);

#endif
