// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

/// What is wrong after kills, which a thread of its own looks for: an issue belongs to a test where the test records it.
///
/// State: the sentences, guarded by the mutex.
final class KillReport: Sendable {
    private let sentences = Mutex<[String]>([])

    /// Whether nothing is wrong so far.
    var isRight: Bool { sentences.withLock { $0.isEmpty } }

    /// Says what is wrong.
    func complain(_ sentence: String) { sentences.withLock { $0.append(sentence) } }

    /// Says what is wrong unless something holds.
    func expect(_ isRight: Bool, _ sentence: @autoclosure () -> String) {
        if !isRight { complain(sentence()) }
    }

    /// Records all of it.
    func record() {
        for sentence in sentences.withLock({ $0 }) { Issue.record("\(sentence)") }
    }
}
