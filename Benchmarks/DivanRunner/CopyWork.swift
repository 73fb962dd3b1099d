// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The floor of work on attachments: what cp(1) takes for a file of the same size, and sync(1) to have the
/// copy on the disk where the attachment is to be there.
struct CopyWork {
    let directory: URL

    /// Runs a workload by name.
    func run(_ work: String) throws -> Timing {
        guard work.hasPrefix("attachment_") else { throw DivanWork.UnknownWork(name: work) }
        let file = try ContentFile.make(in: directory)
        let copy = file.appendingPathExtension("copy")
        let before = childSeconds()
        var timing = try measuring {
            let status = try Self.run("/bin/cp", ["--reflink=never", file.path, copy.path])
            guard status == 0, work == "attachment_write" else { return status }
            return try Self.run("/bin/sync", [copy.path])
        }
        timing.cpu = childSeconds() - before
        timing.units = ContentFile.size
        return timing
    }

    private static func run(_ path: String, _ arguments: [String]) throws -> Int {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        return Int(process.terminationStatus)
    }
}

/// The file that goes into an attachment and out of it: bytes that do not repeat.
enum ContentFile {
    /// Its bytes.
    static let size = 256 << 20
    /// The bytes of a piece.
    static let chunk = 256 << 10

    /// Makes it in a folder.
    static func make(in folder: URL, size: Int = size) throws -> URL {
        let file = folder.appending(path: "content")
        guard FileManager.default.createFile(atPath: file.path, contents: nil),
            let handle = FileHandle(forWritingAtPath: file.path)
        else { throw CocoaError(.fileWriteUnknown) }
        var state: UInt64 = 4
        var piece = [UInt64](repeating: 0, count: chunk / 8)
        for _ in 0..<(size / chunk) {
            for index in piece.indices {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                piece[index] = state
            }
            try handle.write(contentsOf: piece.withUnsafeBytes { Data($0) })
        }
        try handle.close()
        return file
    }
}
