// SPDX-License-Identifier: Apache-2.0

#include "CICU.h"

#include <pthread.h>
#include <stdio.h>
#include <unicode/ucol.h>
#include <unicode/ustring.h>
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
