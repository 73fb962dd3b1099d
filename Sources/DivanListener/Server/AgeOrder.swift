// SPDX-License-Identifier: Apache-2.0

/// Elements in the order in which they were added. Adding, removing and finding the oldest take the same time however many
/// there are.
struct AgeOrder<Element: Hashable & Sendable>: Sendable {
    private struct Links {
        var older: Element?
        var younger: Element?
    }

    private var links: [Element: Links] = [:]
    /// The one that was added first.
    private(set) var oldest: Element?
    private var youngest: Element?

    var count: Int { links.count }

    func contains(_ element: Element) -> Bool { links[element] != nil }

    /// Adds an element as the youngest, unless it is there.
    mutating func append(_ element: Element) {
        guard links[element] == nil else { return }
        links[element] = Links(older: youngest)
        if let youngest { links[youngest]?.younger = element } else { oldest = element }
        youngest = element
    }

    /// Removes an element, if it is there.
    ///
    /// - Returns: Whether it was.
    @discardableResult
    mutating func remove(_ element: Element) -> Bool {
        guard let gone = links.removeValue(forKey: element) else { return false }
        if let older = gone.older {
            links[older]?.younger = gone.younger
        } else {
            oldest = gone.younger
        }
        if let younger = gone.younger {
            links[younger]?.older = gone.older
        } else {
            youngest = gone.older
        }
        return true
    }
}
