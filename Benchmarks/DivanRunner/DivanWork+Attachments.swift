// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan
import Foundation

// Files that become attachments, and attachments that become files. The floor is `CopyWork`.
extension DivanWork {
    /// A file in the folder of the run.
    func makeFile(size: Int = ContentFile.size) throws -> URL {
        try ContentFile.make(in: directory.deletingLastPathComponent(), size: size)
    }

    /// A file becomes an attachment.
    func writeAttachment(to database: Database) throws -> Timing {
        let file = try makeFile()
        var timing = try measuring {
            let document = MutableDocument(id: "film")
            document.setAttachment(named: "a", contentType: nil, .file(file))
            return Int(try database.save(document).document.sequence)
        }
        timing.units = ContentFile.size
        return timing
    }

    /// An attachment becomes a file.
    func readAttachment(of database: Database) throws -> Timing {
        let file = try makeFile()
        let document = MutableDocument(id: "film")
        document.setAttachment(named: "a", contentType: nil, .file(file))
        guard let attachment = try database.save(document).document.attachment(named: "a"),
            let output = FileHandle(forWritingAtPath: file.path)
        else { throw CocoaError(.fileReadUnknown) }
        try output.truncate(atOffset: 0)
        var timing = try measuring {
            let reader = try attachment.makeReader()
            var count = 0
            while true {
                let piece = try reader.read(upTo: ContentFile.chunk)
                if piece.isEmpty { break }
                try output.write(contentsOf: piece)
                count += piece.count
            }
            return count
        }
        timing.units = ContentFile.size
        return timing
    }
}
