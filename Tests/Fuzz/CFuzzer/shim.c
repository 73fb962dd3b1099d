// SPDX-License-Identifier: Apache-2.0

#include "CFuzzer.h"

extern int LLVMFuzzerRunDriver(int *count, char ***arguments, divan_fuzz_target target) __attribute__((weak));

int divan_fuzz_run(int count, char **arguments, divan_fuzz_target target) {
    if (!LLVMFuzzerRunDriver) return -1;
    return LLVMFuzzerRunDriver(&count, &arguments, target);
}
