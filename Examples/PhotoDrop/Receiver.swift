// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPeers
import Foundation

/// Shows links, and stores the pictures that come as files.
///
/// Each link has a database of its own. So a sender sees its own pictures, and not those of others.
struct Receiver: Sendable {
    let meeting: Meeting
    let folder: URL

    func run() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try invite(1)
        say("Pictures come to '\(folder.relativePath)'; press Return to end.")
        // `readLine` waits, which a task must not do.
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                _ = readLine()
                continuation.resume()
            }
        }
    }

    /// Shows a link. When a device has used it, the next one is shown.
    private func invite(_ number: Int) throws {
        let database = try meeting.manager.database(named: "drop-\(number)")
        let link = try meeting.listener.link(for: database, lifetime: .seconds(3_600)) { sender in
            say("\(sender.name) sends pictures. Its screen shows \(sender.code), too.")
            Task { try await store(from: database) }
            do { try invite(number + 1) } catch { say(sentence(of: error)) }
            return true
        }
        if isatty(STDOUT_FILENO) == 1 { say(try link.qrCode().terminal()) }
        say(link.text)
    }

    /// Stores each picture, once it is there with its content.
    private func store(from database: Database) async throws {
        for try await pictures in try database.live(
            Picture.self, where: { !$0.isStored && $0.problem == nil })
        {
            for picture in pictures {
                var answer = picture
                do {
                    let file = try await store(picture, from: database)
                    say("\(file.lastPathComponent) is here.")
                    answer.isStored = true
                } catch {
                    answer.problem = sentence(of: error)
                    say("A picture cannot be stored: \(sentence(of: error))")
                }
                try database.save(&answer)
            }
        }
    }

    private func store(_ picture: Picture, from database: Database) async throws -> URL {
        guard
            let content = try database.document(withID: picture.id)?
                .attachment(named: Picture.content)
        else { throw DropError(sentence: "The picture has no content.") }
        let file = folder.appending(path: Self.safeName(picture.name, in: folder))
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw DropError(sentence: "There is no room in the folder, or no right to write.")
        }
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        for try await piece in content.chunks() { try handle.write(contentsOf: piece) }
        return file
    }

    /// A name of a file that leads nowhere else, is not hidden, and is free: the sender chose it.
    static func safeName(_ name: String, in folder: URL) -> String {
        let scalars = name.unicodeScalars.filter {
            ![.control, .format, .lineSeparator, .paragraphSeparator]
                .contains($0.properties.generalCategory)
        }
        // By scalars: a mark that combines with a slash or a dot would hide it from a look at characters.
        var rest = scalars.split(separator: "/").last ?? "".unicodeScalars[...]
        // Hidden names begin with a dot. File systems take 255 bytes, and a number may come in front; the end has the kind.
        while rest.first == "." || Substring(rest).utf8.count > 200 { rest.removeFirst() }
        let visible = Substring(rest)
        let plain = visible.isEmpty ? "picture" : String(visible)
        var (free, number) = (plain, 1)
        while FileManager.default.fileExists(atPath: folder.appending(path: free).path) {
            number += 1
            free = "\(number)-\(plain)"
        }
        return free
    }
}
