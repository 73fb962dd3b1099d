// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// The first hits of many, in an order.
struct SearchTop {
    let order: [SearchOrder]
    private let limit: Int
    private let after: SearchPosition?
    private(set) var hits: [SearchHit] = []
    /// About how many bytes the hits take, but for their fields.
    private(set) var bytes = 0

    init(_ order: [SearchOrder], limit: Int, after: SearchPosition? = nil) {
        self.order = order
        self.limit = limit
        self.after = after
    }

    /// Takes a hit, if it is among the first behind the position.
    mutating func offer(_ hit: SearchHit) {
        guard limit > 0 else { return }
        if let after, !isBefore(after.order, after.id, hit.order, hit.id) { return }
        if hits.count == limit, let last = hits.last,
            !isBefore(hit.order, hit.id, last.order, last.id)
        {
            return
        }
        var (low, high) = (0, hits.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(hits[middle].order, hits[middle].id, hit.order, hit.id) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        hits.insert(hit, at: low)
        bytes += hit.size
        if hits.count > limit { bytes -= hits.removeLast().size }
    }

    mutating func setFields(_ fields: (DocumentID) throws -> JSONObject) rethrows {
        for index in hits.indices { hits[index].fields = try fields(hits[index].id) }
    }

    /// Whether one hit stands before another one. What a hit does not have stands last.
    func isBefore(
        _ left: [JSONValue?], _ leftID: DocumentID, _ right: [JSONValue?], _ rightID: DocumentID
    ) -> Bool {
        for ((left, right), order) in zip(zip(left, right), order) {
            switch (left, right) {
            case (nil, nil): continue
            case (nil, _): return false
            case (_, nil): return true
            case (let left?, let right?):
                let compared = Self.compare(left, right)
                if compared != 0 { return order.isDescending ? compared > 0 : compared < 0 }
            }
        }
        return leftID < rightID
    }

    /// Compares two values: numbers stand before texts.
    static func compare(_ left: JSONValue, _ right: JSONValue) -> Int {
        switch (left.string, right.string) {
        case (nil, nil):
            let (left, right) = (left.double ?? 0, right.double ?? 0)
            return left < right ? -1 : left > right ? 1 : 0
        case (nil, _): return -1
        case (_, nil): return 1
        case (let left?, let right?):
            return left.hasSameBytes(as: right)
                ? 0 : left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : 1
        }
    }
}
