// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import Synchronization

/// A function of a page that is called with an answer (JSONP), where the configuration allows it (`chttpd/allow_jsonp`):
///
///     GET /notes/a?callback=show      /* CouchDB */show({"_id":"a","_rev":"1-…"}
///                                     );
///
/// Any page can load such an answer as a script, with the cookie of its user, and read it. So it is off at first, and a refusal is
/// no call.
struct Callback {
    private let beginning: [UInt8]
    private static let others = Array("._[]".utf8)
    private static let end = Array(");\n".utf8)

    /// Reads the name of a function.
    ///
    /// - Throws: `HTTPFailure` 400 where a character is none of letters, digits, dots, underscores and brackets.
    init(_ name: String) throws {
        let isWhole = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                || Self.others.contains(byte)
        }
        guard isWhole else { throw HTTPFailure.badRequest("invalid_callback") }
        beginning = Array("/* CouchDB */\(name)(".utf8)
    }

    /// The answer as a call of the function; one that is no JSON as it is.
    func calling(with answer: ListenerResponse) -> ListenerResponse {
        guard answer.headers["Content-Type"] == "application/json" else { return answer }
        var response = answer.with("Content-Type", "application/javascript")
        switch answer.body {
        case .bytes(let bytes): response.body = .bytes(beginning + bytes + Self.end)
        case .stream(let producer, let length):
            response.body = .stream(
                CallingProducer(producer, beginning, Self.end),
                length: length.map { $0.addingSaturated(beginning.count + Self.end.count) })
        }
        return response
    }
}

extension Call {
    /// The function that the answer of a route is to call; nil for none.
    ///
    /// - Throws: `HTTPFailure` 400 for a name that no function has.
    func callback(_ route: Route) throws -> Callback? {
        // Where all programs of the machine are administrators, every page of their browsers would be.
        // What a client or a script has written is answered as it is.
        guard route.method == "GET", !route.answersAnyType,
            site.configuration.settings.allowsCallbacks,
            !site.guardian.allowsAnonymousAdmin, let name = query["callback"], !name.isEmpty
        else { return nil }
        return try Callback(name)
    }
}

/// Makes the pieces of another producer, with a beginning and an end.
///
/// State: whether the beginning and the end were made, guarded by the mutex. The beginning goes out with the first piece, which
/// may fail before the head is sent.
private final class CallingProducer: ResponseProducer {
    private let base: any ResponseProducer
    private let (beginning, end): ([UInt8], [UInt8])
    private let state = Mutex((hasBegun: false, hasEnded: false))

    init(_ base: any ResponseProducer, _ beginning: [UInt8], _ end: [UInt8]) {
        self.base = base
        (self.beginning, self.end) = (beginning, end)
    }

    var lane: ProductionLane { base.lane }
    var beginsBeforeHead: Bool { base.beginsBeforeHead }

    func next() throws -> Production {
        try state.withLock { state in
            guard !state.hasEnded else { return .end }
            let first = state.hasBegun ? [] : beginning
            switch try base.next() {
            case .bytes(let bytes):
                state.hasBegun = true
                return .bytes(first + bytes)
            case .wait(let duration): return .wait(duration)
            case .end:
                state = (true, true)
                return .bytes(first + end)
            }
        }
    }

    func whenReady(_ wake: @escaping @Sendable () -> Void) { base.whenReady(wake) }
    func conclude() { base.conclude() }
    func cancel() { base.cancel() }
}
