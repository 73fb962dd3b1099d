// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPeers

/// What the user is told when something cannot be done: one sentence.
struct TodoError: Error {
    var sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}

/// The sentence of any error. Those of Divan say what is wrong and how to put it right.
func sentence(of error: any Error) -> String {
    switch error {
    case let error as TodoError: error.sentence
    case let error as PeerError: error.message
    case let error as DatabaseError: error.message
    default: "\(error)"
    }
}
