// SPDX-License-Identifier: Apache-2.0

/// The documents that have a term, or one of several, in the order of their ordinals.
///
/// It goes on in *stretches*: as many documents as are in memory at once. What is done with each document is
/// done for a stretch in one call, so that a list of a hundred thousand documents takes some hundred calls.
package protocol Postings: AnyObject {
    /// How many documents there are; a document with several of the terms counts for each.
    var documentCount: UInt64 { get }

    /// Goes on to the stretch that has the first document whose ordinal is not below one.
    ///
    /// - Returns: The ordinals of that document and of the last one of the stretch; nil at the end.
    func seek(_ ordinal: UInt64) throws -> ClosedRange<UInt64>?

    /// Appends the documents of the stretch in a range, and how often each has the term.
    func append(
        _ range: ClosedRange<UInt64>, to ordinals: inout [UInt64], _ frequencies: inout [UInt64])

    /// Removes the documents that have not the term from some that the stretch reaches over.
    func filter(_ ordinals: inout [UInt64])

    /// Reads where the term stands in documents of the stretch, which have it. They come in their order, also from
    /// call to call.
    ///
    /// - Parameters:
    ///   - ordinals: The documents.
    ///   - places: Grows by the places of the documents one after the other, those of each ascending.
    ///   - ends: Grows by where those of each document end.
    /// - Throws: ``IndexCorruption``.
    func readPlaces(_ ordinals: [UInt64], into places: inout [UInt64], _ ends: inout [Int]) throws

    /// Gives up what it holds.
    func close()
}

/// Where an ascending list has the first number that is not below another; its count if it has none.
///
/// Steps from a place double until one would go too far, and then halve: what is near is found at once.
///
/// - Parameters:
///   - numbers: The list.
///   - start: Where to begin: no number before it is the one.
///   - target: The other number.
/// - Returns: The place.
@inline(__always)
package func firstIndex(in numbers: Span<UInt64>, from start: Int, notBelow target: UInt64) -> Int {
    var place = start
    // In lists that have much in common it is one of the next.
    for _ in 0..<4 {
        guard place < numbers.count, numbers[place] < target else { return place }
        place += 1
    }
    return farIndex(in: numbers, from: place, notBelow: target)
}

private func farIndex(in numbers: Span<UInt64>, from start: Int, notBelow target: UInt64) -> Int {
    guard start < numbers.count, numbers[start] < target else { return start }
    var (place, stride) = (start, 1)
    while place + stride < numbers.count, numbers[place + stride] < target {
        place += stride
        stride *= 2
    }
    while stride > 1 {
        stride /= 2
        if place + stride < numbers.count, numbers[place + stride] < target { place += stride }
    }
    return place + 1
}

/// Keeps of ascending numbers those that another ascending list has.
///
/// - Parameters:
///   - numbers: The numbers.
///   - list: The list.
///   - start: Where to begin in the list.
package func keep(_ numbers: inout [UInt64], in list: Span<UInt64>, from start: Int) {
    var (read, kept) = (start, 0)
    var span = numbers.mutableSpan
    if list.count - start < 4 * span.count {
        // Lists of about the same length. Each step writes and goes on in the same way, whatever it finds: a branch that
        // goes now here, now there would cost more.
        var index = 0
        while index < span.count, read < list.count {
            let (number, other) = (span[index], list[read])
            span[kept] = number
            kept += number == other ? 1 : 0
            index += number <= other ? 1 : 0
            read += other <= number ? 1 : 0
        }
    } else {
        for index in span.indices {
            let number = span[index]
            read = firstIndex(in: list, from: read, notBelow: number)
            guard read < list.count else { break }
            span[kept] = number
            kept += list[read] == number ? 1 : 0
        }
    }
    numbers.removeLast(numbers.count - kept)
}
