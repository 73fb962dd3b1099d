// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP

/// JSON text under construction that may become longer than memory should hold: what was written goes to a file when it is
/// more than a quarter of a megabyte.
///
/// The file is sealed with a key that is in memory only, as those of long bodies are, and all such files together have a
/// bound.
struct LongText {
    /// Text in a file.
    struct File: Sendable {
        /// What can be read.
        let bytes: SpooledBytes
        /// Its part of the room for files.
        let room: MemoryReservation
    }

    private static let mostBytes = 256 << 10
    /// The room for a file is reserved in parts of this size.
    private static let step = 16 << 20

    private let site: Site
    /// What was written since the last call of `settle`.
    var text = JSONText()
    private var spool: SealedSpool?
    private var written = 0
    private var rooms: [MemoryReservation] = []

    init(_ site: Site) { self.site = site }

    /// Moves what was written to the file, if it is much.
    ///
    /// - Throws: `HTTPFailure` 503 where such files have become too long, or the system refuses them.
    mutating func settle() throws {
        guard text.bytes.count > Self.mostBytes else { return }
        try spill()
    }

    /// Forgets what was written.
    mutating func restart() { self = LongText(site) }

    private mutating func spill() throws {
        let bytes = text.take()
        if written + bytes.count > rooms.count * Self.step {
            let missing = written + bytes.count - rooms.count * Self.step
            for _ in 0..<(missing + Self.step - 1) / Self.step {
                rooms.append(try Self.room(Self.step, site))
            }
        }
        let open = try spool ?? Self.refusing { try SealedSpool() }
        spool = open
        try Self.refusing { try open.write(bytes) }
        written += bytes.count
    }

    /// The answer that holds the text, which is JSON.
    ///
    /// - Throws: As ``settle()``.
    mutating func response() throws -> ListenerResponse {
        text.bytes.append(JSONByte.lineFeed)
        var response = ListenerResponse(status: 200, body: try body())
        response.headers["Content-Type"] = "application/json"
        response.headers["Cache-Control"] = "must-revalidate"
        return response
    }

    /// The text as the body of an answer.
    ///
    /// - Throws: As ``settle()``.
    mutating func body() throws -> ListenerResponse.Body {
        guard spool != nil else { return .bytes(text.take()) }
        try spill()
        guard let spool else { throw Self.noRoom }
        let bytes = try Self.refusing { try spool.finish() }
        rooms = []
        let file = File(bytes: bytes, room: try Self.room(bytes.length, site))
        return .stream(KeptAnswer(file, site), length: bytes.length)
    }

    /// Puts bytes into a file.
    ///
    /// - Throws: As ``settle()``.
    static func file(of bytes: [UInt8], _ site: Site) throws -> File {
        let room = try room(bytes.count, site)
        return try refusing {
            let spool = try SealedSpool()
            try spool.write(bytes)
            return File(bytes: try spool.finish(), room: room)
        }
    }

    private static func room(_ bytes: Int, _ site: Site) throws -> MemoryReservation {
        guard let room = site.answerFiles.tryReserve(bytes) else { throw noRoom }
        return room
    }

    private static let noRoom = HTTPFailure(
        503, "too_busy",
        "Too much waits for other clients; ask for less, or again in some seconds.",
        headers: ["Retry-After": "5"])

    /// Says of a full disk that the answer could not be kept.
    private static func refusing<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch {
            throw HTTPFailure(507, "insufficient_storage", "The answer could not be kept.")
        }
    }
}
