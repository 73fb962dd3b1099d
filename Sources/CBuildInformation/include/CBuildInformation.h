// SPDX-License-Identifier: Apache-2.0
//
// What is known of a build when its package is made: scripts/package sets it.

#ifndef DIVAN_CBUILDINFORMATION_H
#define DIVAN_CBUILDINFORMATION_H

/// The commit that the program was built from; an empty text where the build does not say.
const char *divan_build_commit(void);

#endif
