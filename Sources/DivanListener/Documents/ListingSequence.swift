// SPDX-License-Identifier: Apache-2.0

/// Answers of several listings as one array.
struct ListingSequence<Listing: ResponseSteps>: ResponseSteps {
    private var listings: [Listing]
    private var index = -1

    init(_ listings: [Listing]) { self.listings = listings }

    mutating func next() throws -> Production {
        if index < 0 {
            index = 0
            return .bytes(Array("{\"results\":[\n".utf8))
        }
        while index < listings.count {
            if case .bytes(let bytes) = try listings[index].next() { return .bytes(bytes) }
            index += 1
            if index < listings.count { return .bytes(Array(",\n".utf8)) }
        }
        guard index == listings.count else { return .end }
        index += 1
        return .bytes(Array("]}\n".utf8))
    }
}
