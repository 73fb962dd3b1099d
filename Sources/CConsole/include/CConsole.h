// SPDX-License-Identifier: Apache-2.0
//
// The files of the console, which stand in Console/, as they were when this was compiled.

#ifndef DIVAN_CCONSOLE_H
#define DIVAN_CCONSOLE_H

#include <stddef.h>

/// A file: its path below Console/, and what is in it.
struct divan_console_file {
    const char *path;
    const unsigned char *bytes;
    size_t length;
};

/// How many files there are.
size_t divan_console_count(void);

/// A file by its number, which is below the count.
struct divan_console_file divan_console_file(size_t number);

#endif
