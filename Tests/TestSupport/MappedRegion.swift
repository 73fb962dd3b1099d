// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import FoundationEssentials

/// A region of this process's memory, as Linux tells it.
public struct MappedRegion: Sendable {
    /// The addresses.
    public let range: Range<UInt>
    /// Whether the process may write there.
    public let isWritable: Bool
    /// The number of the file that is mapped; 0 for memory without one.
    public let fileNumber: UInt
    /// The last part of that file's path.
    public let fileName: String

    /// Every region that the process has; none on another system.
    ///
    /// The kernel gives a page of this file at each reading: `String(contentsOfFile:)` reads once, and shows only the first
    /// regions of a process that has many.
    public static func all() -> [MappedRegion] {
        let text = (try? FileHandle(path: "/proc/self/maps", .read).contents()) ?? []
        return text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard words.count > 4, ends.count == 2, let number = UInt(words[4]) else { return nil }
            return MappedRegion(
                range: ends[0]..<ends[1], isWritable: words[1].hasPrefix("rw"), fileNumber: number,
                fileName: String(
                    decoding: line.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self))
        }
    }

    /// The regions that map a file.
    ///
    /// - Parameter path: The file's path. The file is found by its number, since a path may be written in more than one way,
    ///   and its name, since files of two disks may have one number.
    public static func all(ofFile path: String) throws -> [MappedRegion] {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let number = attributes[.systemFileNumber] as? UInt
        let name = URL(filePath: path).lastPathComponent
        return all().filter { $0.fileNumber == number && $0.fileName == name }
    }
}
