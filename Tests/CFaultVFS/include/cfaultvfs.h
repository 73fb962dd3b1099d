// SPDX-License-Identifier: Apache-2.0
//
// A recorder of what SQLite does to the files of one directory, and a maker of the states that a
// power loss could have left there. For tests only.

#ifndef DIVAN_CFAULTVFS_H
#define DIVAN_CFAULTVFS_H

#include <stdint.h>

// Records from now on what happens to files in `directory`, forgetting earlier recordings. Connections
// must be opened after this. Returns 0, or an error code of SQLite's.
int divan_recording_start(const char *directory);

// Stops recording and keeps what was recorded.
void divan_recording_stop(void);

// Notes that the program holds `value` for acknowledged at this point.
void divan_recording_mark(int64_t value);

// Makes the write with this number, counted from 1, come out short and fail for want of room; 0 for
// none. Returns whether the one set before has come.
int divan_recording_fail_write(int number);

// The number of events recorded: writes, truncations, syncs, deletions and marks.
int divan_recording_count(void);

// Not 0 when the event is a sync.
int divan_recording_is_sync(int event);

// The value of the last mark before an event, or 0.
int64_t divan_recording_mark_before(int event);

// What becomes of what was written to a file after its last sync.
enum { divan_loss_all = 0, divan_loss_nothing = 1, divan_loss_some_sectors = 2 };

// Writes into `target`, an empty directory, the files as a power loss before `event` could leave them.
// With `divan_loss_some_sectors`, each sector of 512 bytes and each truncation since the last sync is
// there or not, as `seed` decides: that covers writes lost, torn, and done in another order. Returns 0
// or an errno.
int divan_recording_replay(int event, int loss, uint64_t seed, const char *target);

// Of the system's writes to files below a directory, makes the one with this number, counted from 1, write half of its
// bytes, and the next `count` fail with an errno; 0 ends this. It lies below all file systems of SQLite's, and below
// recordings. Returns whether the write that was set before has come, or -1 where SQLite writes by other calls.
int divan_failing_writes(const char *directory, int number, int count, int error);

// Makes a database at `path` in a file system of SQLite's, has two connections map its file, a third one cut it, and looks
// at a page behind its end by both. Returns 0, or which step failed; a file system that reads behind the end of the
// file ends the process.
int divan_cut_file_check(const char *path, const char *vfs);

// Makes a database at `path`, which is below `directory`, gives its log frames as SQLite does, and has the system fail to
// write one that waits. Returns 0, or which step failed.
int divan_lost_frames_check(const char *path, const char *directory, const char *vfs);

#endif
