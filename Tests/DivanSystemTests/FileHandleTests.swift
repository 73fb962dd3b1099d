// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite struct FileHandleTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `a pipe is refused as a file, without waiting for its other end`() throws {
        let path = folder.file("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let error = #expect(throws: SystemError.self) { try FileHandle(path: path, .read) }
        #expect(error == .noRegularFile(path))
        #expect(error?.reason.hasPrefix("it is a pipe") == true)
        #expect(throws: Never.self) { try FileHandle(anyKindAt: path, .read) }
    }

    @Test func `a directory is opened, and a missing file is told`() throws {
        #expect(throws: Never.self) { try FileHandle(path: folder.path, [.read, .directory]) }
        let error = #expect(throws: SystemError.self) {
            try FileHandle(path: folder.file("none"), .read)
        }
        #expect(error?.isMissing == true && error?.isNoSuchFile == true)
        #expect(error?.operation == "open" && error?.path == folder.file("none"))
    }

    @Test func `a new file must be missing`() throws {
        let path = try folder.make([1])
        let error = #expect(throws: SystemError.self) {
            try FileHandle(path: path, [.write, .new])
        }
        #expect(error?.isExisting == true)
    }

    @Test func `a file that is made has the permissions that were asked for`() throws {
        let path = folder.file("secret")
        _ = try FileHandle(path: path, [.write, .new], permissions: 0o600)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func `reading from an offset gives fewer bytes only at the end`() throws {
        let file = try FileHandle(path: folder.make([0, 1, 2, 3, 4]), .read)
        #expect(try file.read(at: 1, upTo: 3) == [1, 2, 3])
        #expect(try file.read(at: 3, upTo: 9) == [3, 4])
        #expect(try file.read(at: 5, upTo: 9) == [])
    }

    @Test func `the whole content is read, up to a limit`() throws {
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        let file = try FileHandle(path: folder.make(bytes), .read)
        #expect(try file.contents() == bytes)
        #expect(try file.contents(limit: 300_000) == bytes)
        let error = #expect(throws: SystemError.self) { try file.contents(limit: 100_000) }
        #expect(error?.number == EFBIG)
    }

    @Test func `a lock excludes another handle until it is given up`() throws {
        let path = try folder.make([])
        let (one, two) = (try FileHandle(path: path, .read), try FileHandle(path: path, .read))
        #expect(try one.tryLock(exclusive: false))
        #expect(try two.tryLock(exclusive: false))
        #expect(try !two.lock(exclusive: true, timeout: .milliseconds(20)))
        one.unlock()
        #expect(try two.lock(exclusive: true, timeout: .zero))
        #expect(try !one.tryLock(exclusive: false))
    }

    @Test func `a handle notices that its file was replaced or deleted`() throws {
        let path = try folder.make([1])
        let file = try FileHandle(path: path, .read)
        #expect(file.isAtItsPath && file.isLinked)
        try Files.replace(path, with: [2])
        #expect(!file.isAtItsPath && !file.isLinked)
        #expect(try file.contents() == [1])
        try Files.remove(path)
        #expect(!file.isAtItsPath)
    }

    @Test func `a file without a name is written and read`() throws {
        let file = try FileHandle.nameless()
        try file.write([1, 2, 3])
        #expect(!file.isLinked && file.length == 3)
        try file.overwrite([9])
        #expect(try file.contents() == [9, 2, 3])
        try file.setLength(1)
        #expect(file.length == 1)
    }
}
