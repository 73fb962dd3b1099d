// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import DivanJSON

/// One transfer of libcurl's, used on its loop's thread only.
///
/// Its callbacks reach the `CurlTransfer` that it keeps alive.
@safe
final class CurlHandle {
    let transfer: CurlTransfer
    private let easy: OpaquePointer
    /// What its connection asks whether to trust a server.
    private var trust: TrustQuestion?

    init?(_ transfer: CurlTransfer) {
        self.transfer = transfer
        // SAFETY: the transfer lives as long as this object, and the callbacks are called only while the handle, which
        // this object owns, is driven.
        var callbacks = unsafe divan_curl_callbacks(
            context: Unmanaged.passUnretained(transfer).toOpaque(),
            head: { context, bytes, count in
                unsafe CurlTransfer.lent(context).receiveHead(
                    UnsafeBufferPointer(start: bytes, count: count))
            },
            write: { context, bytes, count in
                unsafe CurlTransfer.lent(context).receiveBody(
                    UnsafeBufferPointer(start: bytes, count: count))
            },
            read: { context, bytes, count in
                unsafe CurlTransfer.lent(context).fillUpload(
                    UnsafeMutableBufferPointer(start: bytes, count: count))
            },
            rewind: { context in
                unsafe CurlTransfer.lent(context).rewindUpload() ? 1 : 0
            })
        guard let created = unsafe divan_curl_easy_create(&callbacks) else { return nil }
        unsafe easy = unsafe created
    }

    deinit { unsafe divan_curl_easy_free(easy) }

    /// Sets an option; texts that hold NUL are refused.
    func set(_ option: divan_curl_text, _ text: String) -> Bool {
        // SAFETY: libcurl copies the text.
        text.utf8.contains(0) ? false : unsafe divan_curl_set_text(easy, option, text) == 0
    }

    /// Takes an option's usual value away.
    func clear(_ option: divan_curl_text) { unsafe divan_curl_set_text(easy, option, nil) }

    func set(_ option: divan_curl_number, _ number: Int) {
        unsafe divan_curl_set_number(easy, option, Int64(clamping: number))
    }

    func set(_ option: divan_curl_blob, _ bytes: [UInt8]) -> Bool {
        // SAFETY: libcurl copies the bytes.
        unsafe bytes.withUnsafeBufferPointer {
            unsafe divan_curl_set_blob(easy, option, $0.baseAddress, $0.count) == 0
        }
    }

    /// Has a closure decide whether the server is trusted; false where the TLS library cannot ask.
    ///
    /// The closure answers why the server is not trusted, or nil when it is.
    func setTrust(of url: HTTPURL, _ judge: @escaping (ServerTrust) -> HTTPError?) -> Bool {
        let isBracketed = url.host.hasBytePrefix("[")
        let name = isBracketed ? String(url.host.dropFirst().dropLast()) : url.host
        let question = TrustQuestion(host: name, port: url.port, judge)
        trust = question
        // SAFETY: the question lives as long as this object, and so longer than any handshake of its transfer. The
        // certificates are lent for the call.
        return unsafe divan_curl_set_trust(
            easy, name,
            { context, certificates, counts, count, isTrusted, problem in
                guard let context = unsafe context else { return 0 }
                let question = unsafe Unmanaged<TrustQuestion>.fromOpaque(context)
                    .takeUnretainedValue()
                var chain: [[UInt8]] = []
                for index in 0..<count {
                    guard let bytes = unsafe certificates?[index], let counts = unsafe counts else {
                        return 0
                    }
                    unsafe chain.append(
                        Array(UnsafeBufferPointer(start: bytes, count: counts[index])))
                }
                let why = unsafe problem.map { unsafe String(cString: $0) }
                return question.isTrusted(chain, isTrusted == 1, why) ? 1 : 0
            }, Unmanaged.passUnretained(question).toOpaque()) == 0
    }

    func add(header line: String) -> Bool {
        // SAFETY: libcurl copies the line.
        line.utf8.contains(0) ? false : unsafe divan_curl_add_header(easy, line) == 0
    }

    func add(to multi: CurlMulti) -> Bool { unsafe divan_curl_multi_add(multi.pointer, easy) == 0 }

    func remove(from multi: CurlMulti) { unsafe divan_curl_multi_remove(multi.pointer, easy) }

    /// Lets both directions go on that may.
    func applyPauses() {
        let (receiving, sending) = transfer.pauses
        unsafe divan_curl_pause(easy, receiving ? 1 : 0, sending ? 1 : 0)
    }

    /// What came of sending or receiving on a connection that was only made.
    enum Moved {
        case bytes(Int)
        /// The connection is not ready.
        case later
        case gone
    }

    /// Sends bytes, some or all of them.
    func send(_ bytes: ArraySlice<UInt8>) -> Moved {
        var count = 0
        // SAFETY: the bytes live through the call.
        let result = unsafe bytes.withUnsafeBufferPointer {
            unsafe divan_curl_send(easy, $0.baseAddress, $0.count, &count)
        }
        return Self.moved(result, count)
    }

    /// Receives bytes, at most as many as there is room for; none at the end.
    func receive(into room: inout [UInt8]) -> Moved {
        var count = 0
        // SAFETY: the room is as long as said, and lives through the call.
        let result = unsafe room.withUnsafeMutableBufferPointer {
            unsafe divan_curl_receive(easy, $0.baseAddress, $0.count, &count)
        }
        return Self.moved(result, count)
    }

    private static func moved(_ result: divan_curl_moved, _ count: Int) -> Moved {
        switch result {
        case DIVAN_CURL_MOVED: .bytes(count)
        case DIVAN_CURL_LATER: .later
        default: .gone
        }
    }

    /// Sleeps until the connection can be read from, or written to; false when it is no more.
    func poll(in multi: CurlMulti, writing: Bool, milliseconds: Int) -> Bool {
        unsafe divan_curl_multi_poll_connection(
            multi.pointer, easy, writing ? 1 : 0, Int32(clamping: milliseconds)) == 0
    }

    /// The error of a transfer that failed: why its server is not trusted, or else what libcurl says.
    func failure(_ result: divan_curl_result) -> HTTPError {
        trust?.refusal
            ?? HTTPError.curl(
                result, unsafe String(cString: divan_curl_message(easy)), transfer.url)
    }
}

/// What a handshake asks about its server.
private final class TrustQuestion {
    private let host: String
    private let port: Int
    private let judge: (ServerTrust) -> HTTPError?
    /// Why the server is not trusted.
    private(set) var refusal: HTTPError?

    init(host: String, port: Int, _ judge: @escaping (ServerTrust) -> HTTPError?) {
        self.host = host
        self.port = port
        self.judge = judge
    }

    func isTrusted(_ chain: [[UInt8]], _ isTrusted: Bool, _ problem: String?) -> Bool {
        refusal = judge(
            ServerTrust(
                host: host, port: port, certificates: chain, isTrustedBySystem: isTrusted,
                problem: problem))
        return refusal == nil
    }
}

/// A multi handle of libcurl's. All but waking is done on its loop's thread.
@safe
struct CurlMulti: Sendable {
    // Safe because the loop's thread alone drives the handle and frees it at its end; waking, which other threads do
    // under the mutex of `CurlThread` and only before that end, is made for them.
    fileprivate nonisolated(unsafe) let pointer: OpaquePointer

    init?() {
        guard let created = unsafe divan_curl_multi_create() else { return nil }
        unsafe pointer = unsafe created
    }

    func free() { unsafe divan_curl_multi_free(pointer) }

    func perform() { _ = unsafe divan_curl_multi_perform(pointer) }

    func poll(milliseconds: Int) {
        _ = unsafe divan_curl_multi_poll(pointer, Int32(clamping: milliseconds))
    }

    func wakeUp() { unsafe divan_curl_multi_wakeup(pointer) }

    /// The next transfer that has ended.
    func nextDone() -> (identity: ObjectIdentifier, result: divan_curl_result)? {
        var result = DIVAN_CURL_OK
        guard let easy = unsafe divan_curl_multi_next_done(pointer, &result),
            let context = unsafe divan_curl_context(easy)
        else { return nil }
        return unsafe (ObjectIdentifier(CurlTransfer.lent(context)), result)
    }
}
