// SPDX-License-Identifier: Apache-2.0

#include "CQRCode.h"

#include <errno.h>
#include <limits.h>
#include <qrencode.h>

static QRecLevel level_of(enum divan_qrcode_correction correction) {
    switch (correction) {
    case DIVAN_QRCODE_LOW: return QR_ECLEVEL_L;
    case DIVAN_QRCODE_MEDIUM: return QR_ECLEVEL_M;
    case DIVAN_QRCODE_QUARTILE: return QR_ECLEVEL_Q;
    case DIVAN_QRCODE_HIGH: return QR_ECLEVEL_H;
    }
    return QR_ECLEVEL_H;
}

// The number of UTF-8 among the assignments for extended channel interpretation.
enum { ECI_UTF_8 = 26 };

int divan_qrcode_make(
    const uint8_t *bytes, size_t count, int marks_utf8, enum divan_qrcode_correction correction,
    uint8_t *modules) {
    if (count == 0 || count > INT_MAX) return 0;
    // Version 0 stands for the smallest one.
    QRinput *input = QRinput_new2(0, level_of(correction));
    if (input == NULL) return -1;
    QRcode *code = NULL;
    if ((!marks_utf8 || QRinput_appendECIheader(input, ECI_UTF_8) == 0) &&
        QRinput_append(input, QR_MODE_8, (int)count, bytes) == 0)
        code = QRcode_encodeInput(input);
    int error = errno;
    QRinput_free(input);
    if (code == NULL) return error == ENOMEM ? -1 : 0;
    int side = code->width;
    if (side > DIVAN_QRCODE_MOST_SIDE) side = 0;
    // The lowest bit says whether a module is dark; the others say what it is for.
    for (int place = 0; place < side * side; place += 1) modules[place] = code->data[place] & 1;
    QRcode_free(code);
    return side;
}
