// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPeers
import Foundation

/// Sends pictures to the device that shows a link, and waits until it has stored them.
struct Sender: Sendable {
    let meeting: Meeting
    let files: [URL]

    func run(to text: String) async throws {
        for file in files where !FileManager.default.isReadableFile(atPath: file.path) {
            throw DropError(sentence: "There is no file '\(file.relativePath)' that can be read.")
        }
        let link = try PeerLink(text)
        let pairing = try await meeting.device.pair(with: link)
        say("Paired with \(pairing.peer.name). Its screen shows \(pairing.code), too.")
        let database = try meeting.manager.database(named: link.database)
        for file in files {
            // In one transaction, so that no picture leaves without its content.
            try database.inBatch {
                var picture = Picture(name: file.lastPathComponent)
                try database.save(&picture)
                try database.update(picture.id) {
                    $0.setAttachment(named: Picture.content, contentType: nil, .file(file))
                }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await waitForAnswers(database) }
            group.addTask { try await failWhenGone() }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Says which pictures have arrived, until all have.
    private func waitForAnswers(_ database: Database) async throws {
        var told = 0
        for try await pictures in try database.live(Picture.self) {
            if let problem = pictures.lazy.compactMap(\.problem).first {
                throw DropError(sentence: "The other device cannot store a picture: \(problem)")
            }
            let count = pictures.count { $0.isStored }
            if count > told { say("\(count) of \(files.count) have arrived.") }
            told = count
            if count == files.count { return }
        }
    }

    /// Fails when the other device has not been there for half a minute.
    private func failWhenGone() async throws {
        var seen = ContinuousClock.now
        while ContinuousClock.now - seen < .seconds(30) {
            let isHere = meeting.sync.currentStatuses.contains { $0.presence == .connected }
            if isHere { seen = .now }
            try await Task.sleep(for: .milliseconds(500))
        }
        throw DropError(sentence: "The other device has left, or cannot be reached.")
    }
}
