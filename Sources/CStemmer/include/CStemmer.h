// SPDX-License-Identifier: Apache-2.0

// An opaque fence around Snowball's stemmers, which work on UTF-8. One thread at a time may use one.

#ifndef DIVAN_CSTEMMER_H
#define DIVAN_CSTEMMER_H

#include <stddef.h>
#include <stdint.h>

typedef struct divan_stemmer divan_stemmer;

/// Makes the stemmer of a language, named as Snowball does ("english"); NULL if there is none.
divan_stemmer *divan_stemmer_open(const char *language);

/// Frees a stemmer.
void divan_stemmer_close(divan_stemmer *stemmer);

/// Answers the stem of a word in lower case, and its length in bytes.
///
/// The bytes belong to the stemmer and stay until its next word. NULL if memory runs out.
const uint8_t *divan_stemmer_stem(
    divan_stemmer *stemmer, const uint8_t *word, size_t count, size_t *stem_count);

#endif
