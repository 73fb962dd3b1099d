// SPDX-License-Identifier: Apache-2.0

// A file system for SQLite that keeps its files encrypted, on top of the default one. What is where
// in each kind of file, byte by byte, is in docs/encryption.md.

#ifndef DIVAN_CPAGECODEC_H
#define DIVAN_CPAGECODEC_H

#include <stddef.h>
#include <stdint.h>

/// The bytes at the end of each page that SQLite must leave to the codec.
enum { DIVAN_CODEC_RESERVED = 40 };
/// The bytes of a page; the codec knows no other size.
enum { DIVAN_CODEC_PAGE = 4096 };
enum { DIVAN_CODEC_KEY = 32 };

/// The key of one database, and the file system that its connections are opened on.
typedef struct divan_codec divan_codec;

/// Makes a codec with a copy of the key, and registers its file system. NULL when there is no memory
/// or no randomness, or OpenSSL lacks AES-256-GCM.
divan_codec *divan_codec_create(const uint8_t key[DIVAN_CODEC_KEY]);

/// The name under which SQLite finds the file system; valid as long as the codec.
const char *divan_codec_name(const divan_codec *codec);

/// Whether a file that has sealed `count` units since it drew its epoch draws another one. The moments are
/// in seconds of the system's clock. For tests, which cannot wait so long.
int divan_codec_epoch_is_over(uint32_t count, int64_t began, int64_t now);

/// Unregisters the file system and wipes the key. Every file opened on it must be closed.
void divan_codec_free(divan_codec *codec);

#endif
