// SPDX-License-Identifier: Apache-2.0
//
// What a process gives up before it runs code of others: files, network, new processes, and more than so much memory and time.

#ifndef DIVAN_CSANDBOX_H
#define DIVAN_CSANDBOX_H

#include <stddef.h>

/// What scripts could inherit goes: descriptors but the three standard ones, the environment, the directory. The process leaves no core.
/// Then sets one variable of the environment after another, each a text NAME=VALUE that lives on; 0 or `errno`.
int divan_sandbox_begin(char *const *variables, size_t count);

/// Bounds memory: the address space of now and so many bytes more; 0 or `errno`. It is for when the engine has reserved its own.
int divan_sandbox_limit_memory(size_t bytes);

/// Allows the process no system calls but those that computing, threads of its own, and reading and writing the standard descriptors
/// take; with or without memory that can be executed. All others fail; 0 or `errno`. It does nothing where there is no such filter.
int divan_sandbox_filter(int allows_execution);

/// Ends the process when it has computed for so many seconds more, up to one second later.
void divan_sandbox_limit_time(unsigned int seconds);

#endif
