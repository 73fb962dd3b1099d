// SPDX-License-Identifier: Apache-2.0

// An opaque fence around ICU's root collator. ICU's own headers stay in shim.c: a module map that
// includes unicode/*.h clashes with `import Foundation`, which carries another copy of them.
//
// The collator is opened once a process and never changed, so any thread may use it.

#ifndef DIVAN_CICU_H
#define DIVAN_CICU_H

#include <stddef.h>
#include <stdint.h>

/// Opens the root collation (CLDR's, tertiary strength, normalising) if it is not open yet.
///
/// Answers 1, or 0 if ICU has no data. The other functions need it to have answered 1.
int divan_root_open(void);

/// Compares two UTF-8 texts: -1, 0 or 1. Ill-formed bytes count as U+FFFD.
int divan_root_compare(
    const uint8_t *left, size_t left_count,
    const uint8_t *right, size_t right_count);

/// Writes the sort key of a UTF-8 text, without ICU's closing zero byte, into `key`.
///
/// `utf16` is scratch space for `text_count` units. Answers the key's length; if that is `capacity`
/// or more, the content of `key` is undefined and the call must be repeated with more room. Answers
/// -1 if ICU fails.
ptrdiff_t divan_root_sort_key(
    const uint8_t *text, size_t text_count,
    uint16_t *utf16,
    uint8_t *key, size_t capacity);

/// Writes "icu-LIBRARY-COLLATION", for example "icu-72.1-153.120", and a closing zero byte.
void divan_root_version(char out[64]);

/// A compiled regular expression of ICU. One thread at a time may use it.
typedef struct divan_pattern divan_pattern;

/// Compiles a regular expression given as UTF-16; NULL if it is none.
///
/// `error_offset` then gets the offset in units at which it goes wrong, or -1 if that is unknown.
divan_pattern *divan_pattern_open(
    const uint16_t *text, size_t count, int is_caseless, int32_t *error_offset);

/// Frees a compiled regular expression.
void divan_pattern_close(divan_pattern *pattern);

/// Says whether a regular expression matches anywhere in a UTF-8 text: 1 or 0; -1 if that would
/// take more steps or memory than ICU is allowed.
int divan_pattern_find(divan_pattern *pattern, const uint8_t *text, size_t count);

/// A finder of words. One thread at a time may use it.
typedef struct divan_words divan_words;

/// Makes a finder of words by Unicode's rules, with dictionaries for languages without spaces; NULL if
/// ICU has no data.
divan_words *divan_words_open(void);

/// Frees a finder of words.
void divan_words_close(divan_words *words);

/// Finds the words of a UTF-8 text: pairs of offsets, where each begins and ends. Spaces and
/// punctuation are none.
///
/// Answers how many there are, of which `capacity` were written; -1 if ICU fails.
ptrdiff_t divan_words_find(
    divan_words *words, const uint8_t *text, size_t count, uint32_t *ranges, size_t capacity);

/// Writes a UTF-8 text with case and compatibility forms folded (NFKC_Casefold), composed or, if asked
/// for, decomposed (NFD).
///
/// Answers its length in bytes; if that is more than `capacity`, the call must be repeated with more
/// room. Answers -1 if ICU fails.
ptrdiff_t divan_fold(
    const uint8_t *text, size_t count, int decomposes, uint8_t *out, size_t capacity);

#endif
