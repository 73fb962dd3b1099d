// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

/// Reads a changes feed piece by piece: bytes are pushed in, rows come out.
///
/// ```swift
/// var parser = ChangesFeedParser(.normal)
/// for try await bytes in response.body {
///     parser.push(bytes)
///     while let event = try parser.next() {
///         switch event {
///         case .row(let row): queue(row)
///         case .heartbeat: break
///         case .ended(let last, let pending): save(last)
///         }
///     }
/// }
/// try parser.finish()                     // throws when the feed broke off in the middle
/// ```
///
/// The body is never held whole, only the row that is coming in. The forms:
///
/// ```
///  .normal       {"results":[ row, row, … ],"last_seq":…,"pending":…}      and longpoll, which looks alike
///  .continuous   row LF row LF LF(heartbeat) … {"last_seq":…} LF
///  .eventSource  id: 7 LF data: row LF LF …, event: heartbeat, : comment
/// ```
///
/// Sequences are opaque, and kept as the JSON they were. A server that answers `{"error":…,"reason":…}`, first or in the middle, makes
/// ``next()`` throw ``Failure/refused(error:reason:)``.
package struct ChangesFeedParser: Sendable {
    /// How the feed is written.
    package enum Form: Sendable {
        /// One JSON object; `feed=normal` and `feed=longpoll`.
        case normal
        /// One row a line; `feed=continuous`.
        case continuous
        /// Server-sent events; `feed=eventsource`.
        case eventSource
    }

    /// What was read.
    package enum Event: Sendable, Equatable {
        /// A document changed.
        case row(ChangesFeedRow)
        /// The server is alive and has nothing to say. Not told of in the normal form, where white space
        /// between rows is all that comes.
        case heartbeat
        /// The feed has ended by itself, at this place, with so many changes behind it that were not asked for.
        case ended(JSONValue?, pending: Int?)
    }

    /// Why a feed cannot be read.
    package enum Failure: Error, Equatable {
        /// The feed broke off.
        case truncated
        /// These bytes are no changes feed.
        case malformed
        /// A row is longer than allowed.
        case rowTooLong
        /// The server refused.
        case refused(error: String, reason: String)
    }

    private enum Reader: Sendable {
        case object(ChangesObjectReader)
        case lines(ChangesLineReader)
    }

    private var reader: Reader
    private var input = InputBuffer()
    private var failure: Failure?

    /// Makes a parser.
    ///
    /// - Parameters:
    ///   - form: How the feed is written.
    ///   - maximumRowLength: The longest row in bytes: 96 MB unless set, enough for documents of 64 MB that
    ///     come along. A row without its document is longer than some kilobytes only if it has thousands of leaves.
    package init(_ form: Form, maximumRowLength: Int = 96 << 20) {
        reader =
            switch form {
            case .normal: .object(ChangesObjectReader(limit: maximumRowLength))
            case .continuous:
                .lines(ChangesLineReader(isEventSource: false, limit: maximumRowLength))
            case .eventSource:
                .lines(ChangesLineReader(isEventSource: true, limit: maximumRowLength))
            }
    }

    /// Takes in the next bytes. Call ``next()`` until it answers `nil` before pushing more.
    package mutating func push(_ bytes: [UInt8]) { input.append(bytes[...]) }

    /// How many bytes of the feed were read.
    package var position: Int { input.consumed }

    /// Takes in the next bytes. See ``push(_:)-([UInt8])``.
    package mutating func push(_ bytes: ArraySlice<UInt8>) { input.append(bytes) }

    /// Returns the next event, or `nil` when it takes more bytes to tell.
    ///
    /// - Throws: ``Failure``, and then the same for ever.
    package mutating func next() throws(Failure) -> Event? {
        if let failure { throw failure }
        do {
            switch reader {
            case .object(var object):
                // Moved out and back, so that its buffer is not copied.
                reader = .lines(ChangesLineReader(isEventSource: false, limit: 0))
                defer { reader = .object(object) }
                return try object.next(&input)
            case .lines(var lines):
                reader = .lines(ChangesLineReader(isEventSource: false, limit: 0))
                defer { reader = .lines(lines) }
                return try lines.next(&input)
            }
        } catch {
            failure = error
            throw error
        }
    }

    /// Says that no more bytes will come.
    ///
    /// A continuous feed or event source may end between two rows at any time, without `last_seq`.
    ///
    /// - Throws: ``Failure/truncated`` when the feed broke off in the middle of a row or, in the normal form, of
    ///   the whole.
    package func finish() throws(Failure) {
        if let failure { throw failure }
        let isWhole =
            switch reader {
            case .object(let object): object.isAtEnd
            case .lines(let lines): lines.isBetweenRows && input.isEmpty
            }
        guard isWhole else { throw .truncated }
    }
}

extension ChangesFeedParser {
    /// Parses a row, or what a server says instead of one.
    static func parse(_ bytes: ArraySlice<UInt8>) throws(Failure) -> JSONValue {
        do { return try JSONParser.parse(bytes.span) } catch { throw .malformed }
    }

    /// Throws what a server says went wrong, if this is it.
    static func throwRefusal(error: String?, _ reason: String?, isRow: Bool) throws(Failure) {
        guard let error, !isRow else { return }
        throw .refused(error: error, reason: reason ?? "")
    }
}
