// SPDX-License-Identifier: Apache-2.0
//
// The system's LMDB.

#ifndef DIVAN_CLMDB_H
#define DIVAN_CLMDB_H

#include <lmdb.h>

#endif
