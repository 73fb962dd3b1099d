// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import Synchronization

/// An answer whose bytes wait for the client: in memory while there is room for them, in a file otherwise.
///
///     handler, producer ──► bytes
///       │  up to 64 kB: they stay in memory, as a part of what a connection takes
///       │  room in the budget for what waits on the network? they stay, with a reservation
///       ▼  there is none
///     a sealed file without a name, read 64 kB at a time ──► 503 when such files are too long together
///
/// So a client that asks for much and takes it slowly costs the process no memory, however many of them there are.
///
/// State: what waits, guarded by its mutex. `next` is called by one thread at a time.
final class KeptAnswer: ResponseProducer {
    /// Shorter bytes stay in memory anyway.
    static let free = 64 << 10

    private struct Kept {
        var file: LongText.File?
        var offset = 0
        /// What the piece that was given last has reserved.
        var reservation: MemoryReservation?
        /// Throws once the client may no longer have the answer.
        var check: (@Sendable () throws -> Void)?
    }

    private let source: (any ResponseProducer)?
    private let site: Site
    private let kept: Mutex<Kept>

    /// Keeps the pieces of a producer.
    init(_ source: any ResponseProducer, _ site: Site) {
        self.source = source
        self.site = site
        kept = Mutex(Kept())
    }

    /// Gives what is in a file.
    init(_ file: LongText.File, _ site: Site) {
        source = nil
        self.site = site
        kept = Mutex(Kept(file: file))
    }

    /// An answer as it may wait: its bytes reserved for or in a file, its producer's pieces as they come.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - memory: What its request has reserved.
    ///   - site: The listener.
    ///   - check: Asked before each piece: throws once the client may no longer have the answer, which breaks it off.
    /// - Returns: The answer.
    /// - Throws: `HTTPFailure` 503 where there is room neither in memory nor in files.
    static func keeping(
        _ response: ListenerResponse, _ memory: RequestMemory, _ site: Site,
        check: (@Sendable () throws -> Void)? = nil
    ) throws -> ListenerResponse {
        var response = response
        switch response.body {
        case .bytes(let bytes):
            // What the request was reserved for is done with.
            memory.release()
            guard bytes.count > free else { break }
            if let reservation = site.waitingBytes.tryReserve(bytes.count) {
                memory.keep(reservation)
            } else {
                let file = try LongText.file(of: bytes, site)
                response.body = .stream(
                    KeptAnswer(file, site).checking(check), length: bytes.count)
            }
        case .stream(let producer, let length):
            if let producer = producer as? KeptAnswer {
                // It is in a file, and done with, too.
                memory.release()
                producer.checking(check)
                break
            }
            response.body = .stream(KeptAnswer(producer, site).checking(check), length: length)
        }
        return response
    }

    var lane: ProductionLane { source?.lane ?? .answers }
    var beginsBeforeHead: Bool { source?.beginsBeforeHead ?? false }

    @discardableResult
    private func checking(_ check: (@Sendable () throws -> Void)?) -> KeptAnswer {
        kept.withLock { $0.check = check }
        return self
    }

    func next() throws -> Production {
        try kept.withLock { $0.check }?()
        if let piece = try nextOfFile() { return .bytes(piece) }
        guard let source else { return .end }
        let made = try source.next()
        guard case .bytes(let bytes) = made, bytes.count > Self.free else { return made }
        if let reservation = site.waitingBytes.tryReserve(bytes.count) {
            kept.withLock { $0.reservation = reservation }
            return made
        }
        let file = try LongText.file(of: bytes, site)
        kept.withLock { $0.file = file }
        return try nextOfFile().map { .bytes($0) } ?? .end
    }

    /// The next bytes of the file; nil when there is none, or it was read to its end and is given back.
    private func nextOfFile() throws -> [UInt8]? {
        try kept.withLock { kept in
            kept.reservation = nil
            guard let file = kept.file else { return nil }
            let piece = try file.bytes.read(at: kept.offset, upTo: Self.free)
            kept.offset += piece.count
            if piece.isEmpty || kept.offset >= file.bytes.length {
                (kept.file, kept.offset) = (nil, 0)
            }
            return piece.isEmpty ? nil : piece
        }
    }

    func whenReady(_ wake: @escaping @Sendable () -> Void) { source?.whenReady(wake) }

    func conclude() { source?.conclude() }

    func cancel() {
        source?.cancel()
        kept.withLock { $0 = Kept() }
    }
}
