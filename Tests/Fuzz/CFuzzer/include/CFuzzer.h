// SPDX-License-Identifier: Apache-2.0
//
// The driver of libFuzzer, which is there in a build of scripts/fuzz and in no other one.

#ifndef DIVAN_CFUZZER_H
#define DIVAN_CFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// What is called with each input; 0, or -1 for an input that the corpus need not keep.
typedef int (*divan_fuzz_target)(const uint8_t *bytes, size_t count);

/// Runs libFuzzer with its arguments until it ends; -1 when it is not linked.
int divan_fuzz_run(int count, char **arguments, divan_fuzz_target target);

#endif
