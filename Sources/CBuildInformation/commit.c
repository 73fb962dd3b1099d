// SPDX-License-Identifier: Apache-2.0

#include "CBuildInformation.h"

#ifndef DIVAN_COMMIT
#define DIVAN_COMMIT ""
#endif

const char *divan_build_commit(void) { return DIVAN_COMMIT; }
