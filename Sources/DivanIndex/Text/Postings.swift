// SPDX-License-Identifier: Apache-2.0

/// The documents that have a term, or one of several, in the order of their ordinals.
///
/// It stands on a document, at first on none: ``advance(to:)`` goes on to the next one.
package protocol Postings: AnyObject {
    /// The document it stands on: 0 at first, `UInt64.max` at the end.
    var ordinal: UInt64 { get }
    /// How often the document has the term.
    var frequency: UInt64 { get }
    /// How many documents there are; a document with several of the terms counts for each.
    var documentCount: UInt64 { get }

    /// Goes on to the first document whose ordinal is not below one.
    func advance(to ordinal: UInt64) throws

    /// Reads where the term stands in the document, ascending.
    func readPlaces(into places: inout [UInt64]) throws

    /// Gives up what it holds.
    func close()
}
