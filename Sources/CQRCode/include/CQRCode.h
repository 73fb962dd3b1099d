// SPDX-License-Identifier: Apache-2.0

// A fence around libqrencode, which makes QR codes. Any thread may use it.

#ifndef DIVAN_CQRCODE_H
#define DIVAN_CQRCODE_H

#include <stddef.h>
#include <stdint.h>

/// The most modules along a side: those of version 40.
#define DIVAN_QRCODE_MOST_SIDE 177

/// How much of a code may be unreadable: about 7, 15, 25 and 30 percent.
enum divan_qrcode_correction {
    DIVAN_QRCODE_LOW = 0,
    DIVAN_QRCODE_MEDIUM = 1,
    DIVAN_QRCODE_QUARTILE = 2,
    DIVAN_QRCODE_HIGH = 3,
};

/// Makes the smallest code for these bytes, in its mode for 8-bit data; with a mark that says that they are UTF-8, if asked for,
/// which takes the room of a byte.
///
/// Writes a byte for each module, row by row, 1 where it is dark, into `modules`, which has room for
/// DIVAN_QRCODE_MOST_SIDE squared. Answers the number of modules along a side; 0 if no code takes so many bytes, or none at
/// all; -1 if memory runs out.
int divan_qrcode_make(
    const uint8_t *bytes, size_t count, int marks_utf8, enum divan_qrcode_correction correction,
    uint8_t *modules);

#endif
