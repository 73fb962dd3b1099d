// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite struct FilesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `a path is cut at its slashes, also where the next name begins with a mark`() {
        #expect(Files.parent(of: "/a/\u{301}b") == "/a")
        #expect(Files.lastComponent(of: "/a/\u{301}b") == "\u{301}b")
    }

    @Test(arguments: [("/a", "/"), ("a", "."), ("a/b", "a"), ("/a/b/c", "/a/b")])
    func `a file has a parent`(_ path: String, _ parent: String) {
        #expect(Files.parent(of: path) == parent)
    }

    @Test func `a directory is made with its parents, listed in order and removed with its files`()
        throws
    {
        let deep = folder.file("a/b/c")
        try Files.makeDirectory(deep)
        try Files.makeDirectory(deep)
        #expect(Files.isDirectory(deep) && Files.isWritable(deep))
        for name in ["z", "y", "x"] { try Files.touch(deep + "/" + name) }
        #expect(try Files.list(deep) == ["x", "y", "z"])
        try Files.remove(folder.file("a"))
        #expect(!Files.exists(folder.file("a")))
        try Files.remove(folder.file("a"))
    }

    @Test func `the size of a link is that of what it leads to, and links below do not count`()
        throws
    {
        let deep = folder.file("a/b")
        try Files.makeDirectory(deep)
        try Files.replace(deep + "/file", with: [UInt8](repeating: 1, count: 1_000))
        let link = folder.file("link")
        #expect(symlink(folder.file("a"), link) == 0)
        #expect(Files.size(of: link) == Files.size(of: folder.file("a")))
        #expect(symlink(deep, folder.file("a/link")) == 0)
        #expect(Files.size(of: link) < 2_000)
    }

    @Test func `no directory is made in the place of a file`() throws {
        let path = try folder.make([])
        #expect(throws: SystemError.self) { try Files.makeDirectory(path) }
        #expect(throws: SystemError.self) { try Files.makeDirectory(path + "/below") }
    }

    @Test func `a file is replaced whole and leaves no other file`() throws {
        let path = try folder.make([1, 2, 3])
        let before = Files.identity(of: path)
        try Files.replace(path, with: [4])
        #expect(try Files.read(path) == [4])
        #expect(Files.identity(of: path) != before)
        #expect(try Files.list(folder.path) == ["file"])
    }

    @Test func `a failed replacement leaves the file as it was`() throws {
        let path = folder.file("directory")
        try Files.makeDirectory(path)
        #expect(throws: SystemError.self) { try Files.replace(path, with: [1]) }
        #expect(try Files.list(folder.path) == ["directory"])
    }

    @Test func `a second name is the same file, and a copy is another one`() throws {
        let path = try folder.make([1, 2])
        try Files.linkOrCopy(path, to: folder.file("link"))
        try Files.copy(path, to: folder.file("copy"))
        #expect(Files.identity(of: path) == Files.identity(of: folder.file("link")))
        #expect(Files.identity(of: path) != Files.identity(of: folder.file("copy")))
        #expect(try Files.read(folder.file("copy")) == [1, 2])
        #expect(Files.lastingIdentity(of: path) != Files.lastingIdentity(of: folder.file("copy")))
        let error = #expect(throws: SystemError.self) {
            try Files.link(path, to: folder.file("copy"))
        }
        #expect(error?.isExisting == true)
    }

    @Test func `sizes are those of the files below a path`() throws {
        _ = try folder.make([1, 2, 3], named: "a")
        try Files.makeDirectory(folder.file("d"))
        _ = try folder.make([4], named: "d/b")
        #expect(Files.size(of: folder.path) == 4)
        #expect(Files.length(of: folder.file("a")) == 3)
        #expect(Files.length(of: folder.path) == nil)
        #expect(Files.length(of: folder.file("none")) == nil)
    }

    @Test func `a stamp changes as the file is written`() throws {
        let path = try folder.make([1])
        let stamp = Files.stamp(of: path)
        #expect(stamp != nil && stamp == Files.stamp(of: path))
        try FileHandle(path: path, [.write, .append]).write([2])
        #expect(stamp != Files.stamp(of: path))
    }

    @Test func `a file of its owner's is replaced, also after a try that was broken off`() throws {
        let path = folder.file("users")
        #expect(OwnersFile.read(path) == nil)
        _ = try folder.make([9, 9], named: "users.new")
        #expect(OwnersFile.replace(path, [1, 2]))
        #expect(OwnersFile.read(path) == [1, 2])
        #expect(try Files.list(folder.path) == ["users"])
        #expect(!OwnersFile.replace(folder.file("none/users"), [1]))
    }

    @Test func `a volume has room`() throws {
        let volume = try #require(Volume(of: folder.path))
        #expect(!volume.isReadOnly && volume.blockSize > 0)
        #expect(volume.freeBytes == volume.freeBlocks * volume.blockSize)
        #expect(Volume(of: folder.file("none")) == nil)
    }
}
