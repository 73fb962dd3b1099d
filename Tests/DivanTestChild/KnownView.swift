// SPDX-License-Identifier: Apache-2.0

package import Divan

/// A view that the tests and their child process define alike.
package enum KnownView {
    /// Defines the view on a database.
    @discardableResult
    package static func define(on database: Database) -> DatabaseView {
        let view = database.view(named: "known")
        view.setMap(version: "1", reduce: .sum) { document, emit in
            guard let number = document["n"].int64 else { return }
            emit([.string("\(number % 10)"), .integer(number)] as JSONValue, number)
            if number.isMultiple(of: 3) { emit("three", number) }
        }
        return view
    }

    /// What the view should hold for one document.
    package static func rows(_ number: Int64) -> [JSONValue] {
        let first: JSONValue = [.string("\(number % 10)"), .integer(number)]
        return number.isMultiple(of: 3) ? [first, "three"] : [first]
    }
}

/// Builds the known view, or the known full-text index, from nothing, over and over, until it is killed.
struct IndexBuilder {
    private let database: Database
    private let isText: Bool

    init(_ arguments: [String]) throws {
        // Many small pieces, between which it can be killed.
        database = try .forTest(at: arguments.argument(0), indexingMemory: 8_000)
        isText = arguments.count > 1
    }

    func run() throws {
        let view = KnownView.define(on: database)
        let text = KnownText.index(of: database)
        Report.say("ready")
        while true {
            try isText ? text.updateIndex() : view.updateIndex()
            Report.say("built")
            try isText ? text.deleteIndex() : view.deleteIndex()
        }
    }
}
