// SPDX-License-Identifier: Apache-2.0

internal import CMicroHTTPD
internal import DivanHTTP

/// Hands answers to libmicrohttpd.
enum MicroHTTPResponse {
    /// Queues an answer.
    ///
    /// - Returns: false when the library refuses it, and the connection is to be closed.
    static func queue(
        _ response: ListenerResponse, on connection: Exchange.Connection, for exchange: Exchange
    ) -> Bool {
        guard let made = unsafe make(response.body, exchange) else { return false }
        // SAFETY: the response is ours; queueing takes a reference of its own.
        defer { unsafe MHD_destroy_response(made) }
        if case .stream(_, nil) = response.body, exchange.asksForHeadOnly {
            // The library leaves the chunks of an answer to HEAD out, and sends the last one, which is empty, all the same: what
            // stands before the next answer. An answer without chunks has nothing behind its head; its length is not known
            // without making it, so it ends with its connection.
            guard unsafe divan_httpd_end_by_closing(made) != 0 else { return false }
        }
        for field in response.headers {
            _ = unsafe MHD_add_response_header(made, field.name, field.value)
        }
        return unsafe MHD_queue_response(
            connection.pointer, UInt32(clamping: response.status), made)
            == .YES
    }

    private static func make(_ body: ListenerResponse.Body, _ exchange: Exchange) -> OpaquePointer?
    {
        switch body {
        case .bytes(let bytes) where bytes.count > copied:
            exchange.begin(bytes)
            return unsafe callback(UInt64(clamping: bytes.count), block: 32 << 10, exchange)
        case .bytes(var bytes):
            // SAFETY: the library copies the bytes within the call.
            return unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe MHD_create_response_from_buffer(
                    buffer.count, buffer.baseAddress, .RESPMEM_MUST_COPY)
            }
        case .stream(let producer, let length):
            exchange.begin(producer)
            // A body in chunks lies in the connection's memory and needs none of the response's.
            return unsafe callback(
                length.map { UInt64(clamping: $0) } ?? UInt64.max,
                block: length == nil ? 1 : 32 << 10,
                exchange)
        }
    }

    /// Longer bodies stay where they are, and it is known how fast they are taken.
    private static let copied = 32 << 10

    /// An answer whose body the exchange gives piece by piece.
    private static func callback(_ size: UInt64, block: Int, _ exchange: Exchange) -> OpaquePointer?
    {
        let context = unsafe Unmanaged.passRetained(exchange).toOpaque()
        // SAFETY: the context is released by the last callback, which comes once.
        return unsafe MHD_create_response_from_callback(
            size, block, read, context,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<Exchange>.fromOpaque(context).release()
                }
            })
    }

    /// Gives the library the next bytes.
    private static let read: MHD_ContentReaderCallback = { context, _, buffer, size in
        // SAFETY: the context is the exchange; the buffer has `size` bytes.
        guard let context = unsafe context, let buffer = unsafe buffer else {
            return ended(withError: true)
        }
        let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
        let room = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: size)
        switch unsafe exchange.read(into: room) {
        case .bytes(let count): return count
        case .later: return 0
        case .end: return ended(withError: false)
        case .failure: return ended(withError: true)
        }
    }

    /// The library's marks for the end of a body, which are macros.
    private static func ended(withError: Bool) -> Int { withError ? -2 : -1 }
}
