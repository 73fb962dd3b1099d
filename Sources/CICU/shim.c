// SPDX-License-Identifier: Apache-2.0

#include "CICU.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unicode/ubrk.h>
#include <unicode/ucol.h>
#include <unicode/unorm2.h>
#include <unicode/uregex.h>
#include <unicode/ustring.h>
#include <unicode/utext.h>
#include <unicode/uversion.h>

static UCollator *root;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
    UErrorCode status = U_ZERO_ERROR;
    UCollator *collator = ucol_open("", &status);
    if (U_FAILURE(status)) return;
    ucol_setStrength(collator, UCOL_TERTIARY);
    // Normalising makes canonically equal texts equal in any combination of marks. Without it,
    // comparison and sort keys may disagree on text that is not in FCD form.
    ucol_setAttribute(collator, UCOL_NORMALIZATION_MODE, UCOL_ON, &status);
    if (U_FAILURE(status)) {
        ucol_close(collator);
        return;
    }
    root = collator;
}

int divan_root_open(void) {
    pthread_once(&once, prepare);
    return root != NULL;
}

int divan_root_compare(
    const uint8_t *left, size_t left_count,
    const uint8_t *right, size_t right_count) {
    UErrorCode status = U_ZERO_ERROR;
    return ucol_strcollUTF8(
        root,
        left_count ? (const char *)left : "", (int32_t)left_count,
        right_count ? (const char *)right : "", (int32_t)right_count,
        &status);
}

ptrdiff_t divan_root_sort_key(
    const uint8_t *text, size_t text_count,
    uint16_t *utf16,
    uint8_t *key, size_t capacity) {
    // ASCII widens byte by byte, faster than through the converter; nearly all keys are ASCII.
    size_t units = 0;
    while (units < text_count && text[units] < 0x80) {
        utf16[units] = text[units];
        units += 1;
    }
    if (units < text_count) {
        UErrorCode status = U_ZERO_ERROR;
        int32_t more = 0;
        u_strFromUTF8WithSub(
            (UChar *)utf16 + units, (int32_t)(text_count - units), &more,
            (const char *)text + units, (int32_t)(text_count - units),
            0xFFFD, NULL, &status);
        if (U_FAILURE(status)) return -1;
        units += (size_t)more;
    }
    int32_t length = ucol_getSortKey(
        root, (const UChar *)utf16, (int32_t)units, key, (int32_t)capacity);
    return length - 1;
}

void divan_root_version(char out[64]) {
    UVersionInfo library, collation;
    char libraryText[U_MAX_VERSION_STRING_LENGTH], collationText[U_MAX_VERSION_STRING_LENGTH];
    u_getVersion(library);
    ucol_getVersion(root, collation);
    u_versionToString(library, libraryText);
    u_versionToString(collation, collationText);
    snprintf(out, 64, "icu-%s-%s", libraryText, collationText);
}

// About a second for one text: ICU counts in batches of 10,000 steps of its machine.
#define DIVAN_PATTERN_BATCHES 1000

divan_pattern *divan_pattern_open(
    const uint16_t *text, size_t count, int is_caseless, int32_t *error_offset) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError error = {.offset = -1};
    static const UChar empty[1] = {0};
    URegularExpression *expression = uregex_open(
        count ? (const UChar *)text : empty, (int32_t)count,
        is_caseless ? UREGEX_CASE_INSENSITIVE : 0, &error, &status);
    *error_offset = error.offset;
    if (U_FAILURE(status)) return NULL;
    uregex_setTimeLimit(expression, DIVAN_PATTERN_BATCHES, &status);
    if (U_FAILURE(status)) {
        uregex_close(expression);
        return NULL;
    }
    return (divan_pattern *)expression;
}

void divan_pattern_close(divan_pattern *pattern) {
    uregex_close((URegularExpression *)pattern);
}

int divan_pattern_find(divan_pattern *pattern, const uint8_t *text, size_t count) {
    URegularExpression *expression = (URegularExpression *)pattern;
    UErrorCode status = U_ZERO_ERROR;
    UText utf8 = UTEXT_INITIALIZER;
    utext_openUTF8(&utf8, count ? (const char *)text : "", (int64_t)count, &status);
    if (U_FAILURE(status)) return -1;
    uregex_setUText(expression, &utf8, &status);
    UBool found = uregex_find(expression, 0, &status);
    // The expression must not keep what belongs to the caller.
    UErrorCode reset = U_ZERO_ERROR;
    static const UChar empty[1] = {0};
    uregex_setText(expression, empty, 0, &reset);
    utext_close(&utf8);
    if (U_FAILURE(status)) return -1;
    return found ? 1 : 0;
}

divan_words *divan_words_open(void) {
    UErrorCode status = U_ZERO_ERROR;
    UBreakIterator *iterator = ubrk_open(UBRK_WORD, "", NULL, 0, &status);
    return U_FAILURE(status) ? NULL : (divan_words *)iterator;
}

void divan_words_close(divan_words *words) {
    ubrk_close((UBreakIterator *)words);
}

ptrdiff_t divan_words_find(
    divan_words *words, const uint8_t *text, size_t count, uint32_t *ranges, size_t capacity) {
    UBreakIterator *iterator = (UBreakIterator *)words;
    UErrorCode status = U_ZERO_ERROR;
    UText utf8 = UTEXT_INITIALIZER;
    utext_openUTF8(&utf8, count ? (const char *)text : "", (int64_t)count, &status);
    ubrk_setUText(iterator, &utf8, &status);
    if (U_FAILURE(status)) return -1;
    size_t found = 0;
    int32_t start = ubrk_first(iterator);
    for (int32_t end = ubrk_next(iterator); end != UBRK_DONE; end = ubrk_next(iterator)) {
        if (ubrk_getRuleStatus(iterator) >= UBRK_WORD_NONE_LIMIT) {
            if (found < capacity) {
                ranges[2 * found] = (uint32_t)start;
                ranges[2 * found + 1] = (uint32_t)end;
            }
            found += 1;
        }
        start = end;
    }
    // The iterator must not keep what belongs to the caller.
    static const UChar empty[1] = {0};
    ubrk_setText(iterator, empty, 0, &status);
    utext_close(&utf8);
    return (ptrdiff_t)found;
}

ptrdiff_t divan_fold(
    const uint8_t *text, size_t count, int decomposes, uint8_t *out, size_t capacity) {
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *fold = unorm2_getNFKCCasefoldInstance(&status);
    const UNormalizer2 *decompose = unorm2_getNFDInstance(&status);
    if (U_FAILURE(status)) return -1;
    // The longest folding of one character has 18 units, as has the longest decomposition of what
    // that gives; ICU says when even that is too little.
    int32_t room = 18 * (int32_t)count + 18;
    UChar *first = malloc(2 * (size_t)room * sizeof(UChar));
    if (first == NULL) return -1;
    UChar *second = first + room;
    int32_t units = 0, length = 0;
    u_strFromUTF8WithSub(
        first, room, &units, count ? (const char *)text : "", (int32_t)count, 0xFFFD, NULL,
        &status);
    units = unorm2_normalize(fold, first, units, second, room, &status);
    UChar *folded = second;
    if (decomposes) {
        units = unorm2_normalize(decompose, second, units, first, room, &status);
        folded = first;
    }
    u_strToUTF8((char *)out, (int32_t)capacity, &length, folded, units, &status);
    free(first);
    if (status == U_BUFFER_OVERFLOW_ERROR) return (ptrdiff_t)length;
    return U_FAILURE(status) ? -1 : (ptrdiff_t)length;
}
