// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

// What this process takes of the machine, by the files in which Linux tells.
extension CurrentProcess {
    /// How much memory it has, in bytes, as far as the system tells; 0 otherwise.
    package static var residentBytes: Int {
        guard let bytes = try? FileHandle(path: "/proc/self/statm", .read).contents() else {
            return 0
        }
        let pages = bytes.split(separator: UInt8(ascii: " ")).dropFirst().first ?? []
        return (Int(String(decoding: pages, as: UTF8.self), radix: 10) ?? 0)
            .multipliedReportingOverflow(by: Int(sysconf(Int32(_SC_PAGESIZE)))).partialValue
    }

    /// How many descriptors it has open, as far as the system tells; 0 otherwise.
    package static var descriptorCount: Int {
        // One of them is that of the list itself.
        max(((try? Files.list("/proc/self/fd"))?.count ?? 0) - 1, 0)
    }
}
