// SPDX-License-Identifier: Apache-2.0

#include "CStemmer.h"

#include <libstemmer.h>

divan_stemmer *divan_stemmer_open(const char *language) {
    return (divan_stemmer *)sb_stemmer_new(language, "UTF_8");
}

void divan_stemmer_close(divan_stemmer *stemmer) {
    sb_stemmer_delete((struct sb_stemmer *)stemmer);
}

const uint8_t *divan_stemmer_stem(
    divan_stemmer *stemmer, const uint8_t *word, size_t count, size_t *stem_count) {
    struct sb_stemmer *snowball = (struct sb_stemmer *)stemmer;
    const sb_symbol *stem = sb_stemmer_stem(snowball, word, (int)count);
    if (stem == NULL) return NULL;
    *stem_count = (size_t)sb_stemmer_length(snowball);
    return stem;
}
