// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Reads a multipart body piece by piece: bytes are pushed in, events come out.
///
/// ```swift
/// var reader = try MultipartReader(contentType: response.headers["Content-Type"])
/// for try await bytes in response.body {
///     reader.push(bytes)
///     while let event = try reader.next() {
///         switch event {
///         case .partBegan(let headers): …
///         case .bytes(let bytes): …               // of the part that began last
///         case .partEnded: …
///         case .nestedBegan, .nestedEnded, .ended: break
///         }
///     }
/// }
/// try reader.finish()                             // throws when the end is missing
/// ```
///
/// A body on the wire, by RFC 2046:
///
/// ```
///   preamble                        ignored
///   --boundary CRLF                 delimiter: CRLF before it belongs to it
///   Name: value CRLF                headers of the part
///   CRLF
///   bytes                           .bytes, in as many pieces as they come in
///   CRLF --boundary CRLF
///   …
///   CRLF --boundary-- CRLF          .ended
///   epilogue                        ignored
/// ```
///
/// A part that is itself `multipart/…` gives `.nestedBegan` with its headers, then events of its own
/// parts, then `.nestedEnded`; deeper than ``Limits/depth`` it is a part like others.
///
/// ## Invariants
///
/// `checkInvariants()` tests the second; `MultipartReaderTests` show the others with bodies cut anywhere.
///
/// 1. The events do not depend on how the body was cut into pieces, but for the cuts between `.bytes`.
/// 2. What is held is bounded by one piece, plus the longest delimiter or the headers of one part.
/// 3. Every `.partBegan` has its `.partEnded`, every `.nestedBegan` its `.nestedEnded`, unless an error is
///    thrown between them; after an error the reader gives no more events.
package struct MultipartReader: Sendable {
    /// What was read.
    package enum Event: Sendable, Equatable {
        /// A part begins, with these headers.
        case partBegan(HTTPHeaders)
        /// The next bytes of the part; never empty.
        case bytes(ArraySlice<UInt8>)
        /// The part is whole.
        case partEnded
        /// A part begins that has parts of its own, which follow.
        case nestedBegan(HTTPHeaders)
        /// The last part of the nested body has ended.
        case nestedEnded
        /// The whole body has ended; anything after it is ignored.
        case ended
    }

    /// Why a body cannot be read.
    package enum Failure: Error, Equatable {
        /// The content type is not `multipart/…` with a boundary of 1 to 200 characters.
        case noBoundary
        /// The body ended before its last delimiter.
        case truncated
        /// The headers of a part are longer than allowed.
        case headersTooLong
        /// There are more parts than allowed.
        case tooManyParts
    }

    /// Bounds.
    package struct Limits: Sendable {
        /// The most bytes of one part's headers: 16 kB unless set.
        package var headerBytes = 16 * 1_024
        /// The most parts, nested ones not counted: a million unless set.
        package var parts = 1_000_000
        /// How deep bodies may nest: 3 unless set; 1 means that nested ones are not looked into.
        package var depth = 3

        /// Makes the usual bounds.
        package init() {}
    }

    private enum State {
        case preamble, headers, body, ending, epilogue, failed
    }

    private let scanner: DelimiterScanner
    private let limits: Limits
    private var state = State.preamble
    private var input = InputBuffer()
    /// True when the two bytes before the position were a line end that a delimiter may share.
    private var isAtLineStart = true
    private var headers = HTTPHeaders()
    private var headerBytes = 0
    private var partCount = 0
    /// The reader of the nested body while a part is one: none or one.
    private var nested: [MultipartReader] = []

    /// Makes a reader for the body of a message.
    ///
    /// - Parameters:
    ///   - contentType: The message's `Content-Type`.
    ///   - limits: Bounds.
    /// - Throws: ``Failure/noBoundary``.
    package init(contentType: String?, limits: Limits = Limits()) throws(Failure) {
        guard let boundary = Self.boundary(in: contentType) else { throw .noBoundary }
        self.init(boundary: boundary, limits: limits)
    }

    /// Makes a reader for a boundary.
    ///
    /// - Parameters:
    ///   - boundary: The boundary, without the hyphens before it.
    ///   - limits: Bounds.
    package init(boundary: String, limits: Limits = Limits()) {
        scanner = DelimiterScanner(boundary: boundary)
        self.limits = limits
    }

    /// The boundary in a content type; `nil` when that is not multipart or the boundary is unusable.
    package static func boundary(in contentType: String?) -> String? {
        guard let contentType else { return nil }
        let type = HeaderParameters(contentType)
        guard type.value.hasBytePrefix("multipart/"), let boundary = type["boundary"],
            (1...200).contains(boundary.utf8.count)
        else { return nil }
        return boundary
    }

    /// How many bytes of the body lie before what comes next: with ``Event/partBegan(_:)``, where its bytes begin.
    package var position: Int { input.consumed }

    /// Takes in the next bytes. Call ``next()`` until it answers `nil` before pushing more.
    package mutating func push(_ bytes: [UInt8]) { input.append(bytes[...]) }

    /// Takes in the next bytes. See ``push(_:)-([UInt8])``.
    package mutating func push(_ bytes: ArraySlice<UInt8>) { input.append(bytes) }

    /// Returns the next event, or `nil` when it takes more bytes to tell.
    ///
    /// - Throws: ``Failure`` when the body breaks a rule or a limit.
    package mutating func next() throws(Failure) -> Event? {
        do {
            return try step()
        } catch {
            state = .failed
            nested = []
            input.removeAll()
            throw error
        }
    }

    /// Says that no more bytes will come.
    ///
    /// - Throws: ``Failure/truncated`` unless the last delimiter was there.
    package func finish() throws(Failure) {
        guard state == .ending || state == .epilogue else { throw .truncated }
    }

    private mutating func step() throws(Failure) -> Event? {
        while true {
            if let event = try nested.last == nil ? nil : nextNested() { return event }
            switch state {
            case .preamble:
                guard skipPreamble() else { return nil }
            case .headers:
                guard let event = try readHeaders() else { return nil }
                return event
            case .body:
                guard let event = try readBody() else { return nil }
                if case .bytes(let bytes) = event, !nested.isEmpty {
                    nested[0].push(bytes)
                    continue
                }
                return event
            case .ending:
                state = .epilogue
                return .ended
            case .epilogue:
                input.removeAll()
                return nil
            case .failed:
                input.removeAll()
                return nil
            }
        }
    }

    /// Stops the program where an invariant does not hold, once `next()` has answered `nil`; for tests.
    package func checkInvariants() {
        let held = input.rest.count
        switch state {
        case .preamble, .body: precondition(held < scanner.longestDelimiter, "invariant 2")
        case .headers: precondition(headerBytes + held <= limits.headerBytes, "invariant 2")
        case .failed: precondition(held == 0 && nested.isEmpty, "invariants 2 and 3")
        // A nested body's epilogue waits for the next piece.
        case .ending, .epilogue: break
        }
        precondition(nested.count <= 1 && (nested.isEmpty || state == .body), "invariant 3")
        nested.first?.checkInvariants()
    }
}

extension MultipartReader {
    /// Moves to the first delimiter; `false` when it is not there yet.
    private mutating func skipPreamble() -> Bool {
        switch scanner.find(in: input.rest, isAtLineStart: isAtLineStart) {
        case .none(let safe):
            dropBytes(safe)
            return false
        case .found(let delimiter):
            input.drop(delimiter.end - input.rest.startIndex)
            goOn(after: delimiter)
            return true
        }
    }

    private mutating func dropBytes(_ count: Int) {
        guard count > 0 else { return }
        input.drop(count)
        isAtLineStart = false
    }

    private mutating func goOn(after delimiter: DelimiterScanner.Delimiter) {
        state = delimiter.isLast ? .ending : .headers
        headers = HTTPHeaders()
        headerBytes = 0
    }

    /// Reads header lines; the part begins at the empty one.
    private mutating func readHeaders() throws(Failure) -> Event? {
        while true {
            let rest = input.rest
            guard let feed = rest.firstIndex(of: UInt8(ascii: "\n")) else {
                guard headerBytes + rest.count <= limits.headerBytes else { throw .headersTooLong }
                return nil
            }
            var line = rest[..<feed]
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            // A part without a body may end its headers with the delimiter's own line end.
            if line.starts(with: scanner.dashedBoundary) { return try beginPart() }
            headerBytes += feed + 1 - rest.startIndex
            guard headerBytes <= limits.headerBytes else { throw .headersTooLong }
            if line.isEmpty {
                input.drop(feed + 1 - rest.startIndex)
                return try beginPart()
            }
            // A line that is no field is passed over: a server writes the name of an attachment as it is, and one
            // with a line end goes on in the next line. Whose the part is, its place tells.
            _ = headers.add(line: line)
            input.drop(feed + 1 - rest.startIndex)
        }
    }

    private mutating func beginPart() throws(Failure) -> Event {
        partCount += 1
        guard partCount <= limits.parts else { throw .tooManyParts }
        state = .body
        isAtLineStart = true
        guard limits.depth > 1, let boundary = Self.boundary(in: headers["Content-Type"]) else {
            return .partBegan(headers)
        }
        var inner = limits
        inner.depth -= 1
        nested = [MultipartReader(boundary: boundary, limits: inner)]
        return .nestedBegan(headers)
    }

    private mutating func readBody() throws(Failure) -> Event? {
        let rest = input.rest
        switch scanner.find(in: rest, isAtLineStart: isAtLineStart) {
        case .none(let safe):
            guard safe > 0 else { return nil }
            dropBytes(safe)
            return .bytes(rest.prefix(safe))
        case .found(let delimiter) where delimiter.start > rest.startIndex:
            dropBytes(delimiter.start - rest.startIndex)
            return .bytes(rest[..<delimiter.start])
        case .found(let delimiter):
            if let inner = nested.first {
                try inner.finish()
                nested = []
                input.drop(delimiter.end - rest.startIndex)
                goOn(after: delimiter)
                return .nestedEnded
            }
            input.drop(delimiter.end - rest.startIndex)
            goOn(after: delimiter)
            return .partEnded
        }
    }

    /// The next event of the nested body, without its end, which its delimiter outside tells.
    private mutating func nextNested() throws(Failure) -> Event? {
        guard let event = try nested[0].next(), event != .ended else { return nil }
        return event
    }
}
