// SPDX-License-Identifier: Apache-2.0

#ifdef __linux__
#define _GNU_SOURCE
#endif

#include "CSandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

int divan_sandbox_begin(char *const *variables, size_t count) {
#ifdef __linux__
    if (syscall(SYS_close_range, 3, ~0U, 0) != 0) {
        for (int descriptor = 3; descriptor < 65536; descriptor++) close(descriptor);
    }
    clearenv();
#else
    for (int descriptor = 3; descriptor < getdtablesize(); descriptor++) close(descriptor);
#endif
    for (size_t index = 0; index < count; index++) putenv(variables[index]);
    const struct rlimit none = {0, 0};
    if (chdir("/") != 0 || setrlimit(RLIMIT_CORE, &none) != 0) return errno;
    return 0;
}

int divan_sandbox_limit_memory(size_t bytes) {
#ifdef __linux__
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return errno;
    int found = fscanf(file, "%lu", &pages);
    fclose(file);
    if (found != 1) return EIO;
    const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
    const struct rlimit limit = {most, most};
    return setrlimit(RLIMIT_AS, &limit) == 0 ? 0 : errno;
#else
    (void)bytes;
    return 0;
#endif
}

void divan_sandbox_limit_time(unsigned int seconds) {
    // The limit is moved once a second at most, since a command may take some microseconds.
    static time_t last = -1;
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0 || used.tv_sec == last) return;
    last = used.tv_sec;
    const struct rlimit limit = {(rlim_t)used.tv_sec + seconds + 1, RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &limit);
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// Programs of the kernel's filter: an instruction each. A block of `ALLOW_…` ends in a decision, or goes on behind itself.
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_ARGUMENT(index) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[index]))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define IF_ANY_BIT(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))
#define END(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS)

#define ALLOW(call) IF_EQUAL(__NR_##call, 0, 1), END(SECCOMP_RET_ALLOW)
#define ALLOW_IF_EQUAL(call, index, value) \
    IF_EQUAL(__NR_##call, 0, 4), LOAD_ARGUMENT(index), IF_EQUAL((value), 0, 1), END(SECCOMP_RET_ALLOW), END(REFUSED)
#define ALLOW_IF_EITHER(call, index, one, other) \
    IF_EQUAL(__NR_##call, 0, 5), LOAD_ARGUMENT(index), IF_EQUAL((one), 1, 0), IF_EQUAL((other), 0, 1), END(SECCOMP_RET_ALLOW), \
        END(REFUSED)
#define ALLOW_WITHOUT(call, index, bits) \
    IF_EQUAL(__NR_##call, 0, 4), LOAD_ARGUMENT(index), IF_ANY_BIT((bits), 1, 0), END(SECCOMP_RET_ALLOW), END(REFUSED)
#define ALLOW_WITH(call, index, bits) \
    IF_EQUAL(__NR_##call, 0, 4), LOAD_ARGUMENT(index), IF_ANY_BIT((bits), 0, 1), END(SECCOMP_RET_ALLOW), END(REFUSED)

// The limits of this process alone: the number of another one would limit that.
#define ALLOW_OWN_LIMIT(resource) \
    IF_EQUAL(__NR_prlimit64, 0, 6), LOAD_ARGUMENT(0), IF_EQUAL(0, 0, 3), LOAD_ARGUMENT(1), IF_EQUAL((resource), 0, 1), \
        END(SECCOMP_RET_ALLOW), END(REFUSED)

int divan_sandbox_filter(int allows_execution) {
    const unsigned int process = (unsigned int)getpid();
    const unsigned int forbidden = allows_execution ? 0 : PROT_EXEC;
    struct sock_filter program[] = {
        LOAD(arch), IF_EQUAL(ARCHITECTURE, 1, 0), END(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        ALLOW_IF_EQUAL(read, 0, 0), ALLOW(pread64), ALLOW_IF_EITHER(write, 0, 1, 2),
        // Threads and what they wait by. The flags of clone3 cannot be seen, so the C library is told to use clone.
        ALLOW(futex), ALLOW_WITH(clone, 0, CLONE_THREAD), IF_EQUAL(__NR_clone3, 0, 1), END(ABSENT),
        ALLOW(set_robust_list), ALLOW(rseq), ALLOW(sched_yield), ALLOW(sched_getaffinity), ALLOW(membarrier), ALLOW(gettid),
        ALLOW(getpid), ALLOW_IF_EQUAL(tgkill, 0, process), ALLOW_IF_EITHER(prctl, 0, PR_SET_NAME, 0x53564d41),
        ALLOW(nanosleep), ALLOW(clock_nanosleep), ALLOW(getcpu),
        // Memory.
        ALLOW_WITHOUT(mmap, 2, forbidden), ALLOW_WITHOUT(mprotect, 2, forbidden), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(brk),
        // Time, chance, signals of its own, its end.
        ALLOW(clock_gettime), ALLOW(gettimeofday), ALLOW(getrandom), ALLOW(getrusage), ALLOW(sysinfo),
        ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(rt_sigsuspend), ALLOW(sigaltstack), ALLOW(restart_syscall),
        ALLOW_OWN_LIMIT(RLIMIT_CPU), ALLOW(exit), ALLOW(exit_group),
        END(REFUSED),
    };
    const struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    const unsigned int action = SECCOMP_RET_ERRNO;
    const int has_filters = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
    const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    if (result == 0) return 0;
    // The number of a thread that cannot have the filter.
    if (result > 0) return EBUSY;
    // A kernel without filters goes on without.
    return !has_filters && (errno == ENOSYS || errno == EINVAL) ? 0 : errno;
}

#else

int divan_sandbox_filter(int allows_execution) {
    (void)allows_execution;
    return 0;
}

#endif
