// SPDX-License-Identifier: Apache-2.0

/// Answers of several listings as one array. Each is made when its turn comes.
struct ListingSequence<Listing: ResponseSteps>: ResponseSteps {
    private let count: Int
    private let make: @Sendable (Int) throws -> Listing
    private var current: Listing?
    private var index = -1

    init(count: Int, _ make: @escaping @Sendable (Int) throws -> Listing) {
        self.count = count
        self.make = make
    }

    mutating func next() throws -> Production {
        if index < 0 {
            index = 0
            return .bytes(Array("{\"results\":[\n".utf8))
        }
        while index < count {
            var listing = try current ?? make(index)
            current = nil
            if case .bytes(let bytes) = try listing.next() {
                current = listing
                return .bytes(bytes)
            }
            index += 1
            if index < count { return .bytes(Array(",\n".utf8)) }
        }
        guard index == count else { return .end }
        index += 1
        return .bytes(Array("]}\n".utf8))
    }
}
