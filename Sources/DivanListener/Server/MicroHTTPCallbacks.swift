// SPDX-License-Identifier: Apache-2.0

internal import CMicroHTTPD
internal import DivanHTTP
internal import DivanSystem

/// What libmicrohttpd calls, on its own thread. Each finds its object and hands over.
///
/// Ownership: the *context* is the server, unretained, since it outlives its daemon. A connection's own
/// context is its `OpenConnection`, retained while it is open. `*request` is an `Exchange`, retained
/// from `begin` to `completed`. A response's body retains its exchange until the library frees it.
enum MicroHTTPCallbacks {
    static func install(_ options: inout divan_httpd_options) {
        unsafe options.begin = { context, target, connection in
            // SAFETY: the context is the server; the target ends in zero; the connection is open.
            guard let context = unsafe context, let target = unsafe target,
                let connection = unsafe connection,
                let open = unsafe divan_httpd_connection_context(connection)
            else { return nil }
            let server = unsafe Unmanaged<MicroHTTPServer>.fromOpaque(context).takeUnretainedValue()
            let exchange = unsafe Exchange(
                server, target: String(validatingCString: target),
                targetSize: MicroHTTPCallbacks.length(target),
                connection: Exchange.Connection(pointer: connection),
                Unmanaged<OpenConnection>.fromOpaque(open).takeUnretainedValue())
            return unsafe Unmanaged.passRetained(exchange).toOpaque()
        }
        unsafe options.respond = { _, _, _, method, _, upload, uploadSize, request in
            // SAFETY: `*request` is what `begin` gave; the upload has `*uploadSize` bytes.
            guard let request = unsafe request?.pointee, let method = unsafe method,
                let uploadSize = unsafe uploadSize
            else { return .NO }
            let exchange = unsafe Unmanaged<Exchange>.fromOpaque(request).takeUnretainedValue()
            let count = unsafe uploadSize.pointee
            let piece = unsafe UnsafeRawBufferPointer(start: upload, count: count)
            let isFine = unsafe exchange.advance(String(validatingCString: method), piece)
            unsafe uploadSize.pointee = 0
            return isFine ? .YES : .NO
        }
        unsafe options.completed = { _, _, request, _ in
            // SAFETY: the balance to `begin`.
            guard let slot = unsafe request, let pointer = unsafe slot.pointee else { return }
            unsafe slot.pointee = nil
            unsafe Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue().finish()
        }
        unsafe options.connection = { context, connection, slot, event in
            // SAFETY: the context is the server; the connection is alive in both events, the second of which
            // is the balance to the first.
            guard let context = unsafe context, let connection = unsafe connection,
                let slot = unsafe slot
            else { return }
            let server = unsafe Unmanaged<MicroHTTPServer>.fromOpaque(context).takeUnretainedValue()
            let number = Int(bitPattern: connection)
            guard event == .CONNECTION_NOTIFY_STARTED else {
                if let open = unsafe slot.pointee {
                    unsafe Unmanaged<OpenConnection>.fromOpaque(open).release()
                }
                return server.closed(number)
            }
            let descriptor = unsafe divan_httpd_socket(connection)
            ConnectedSocket.sendAtOnce(descriptor)
            let open = OpenConnection(
                descriptor: descriptor, network: ConnectedSocket.network(ofPeer: descriptor))
            unsafe slot.pointee = unsafe Unmanaged.passRetained(open).toOpaque()
            server.opened(number, open)
        }
    }

    /// The length of a text that ends in zero.
    private static func length(_ text: UnsafePointer<CChar>) -> Int {
        var count = 0
        // SAFETY: the text ends in zero.
        while unsafe text[count] != 0 { count += 1 }
        return count
    }

    /// Reads the header fields of a request.
    static func fields(_ connection: OpaquePointer) -> ReceivedFields {
        var fields = ReceivedFields()
        // SAFETY: the callback runs within the call, and the texts end in zero.
        unsafe withUnsafeMutablePointer(to: &fields) { fields in
            _ = unsafe MHD_get_connection_values(
                connection, .HEADER_KIND,
                { context, _, name, value in
                    let fields = unsafe context?.assumingMemoryBound(to: ReceivedFields.self)
                    guard let fields = unsafe fields, let name = unsafe name else { return .YES }
                    let text = unsafe value.map { unsafe String(validatingCString: $0) } ?? ""
                    let size =
                        unsafe MicroHTTPCallbacks.length(name)
                        + (value.map { unsafe MicroHTTPCallbacks.length($0) } ?? 0)
                    unsafe fields.pointee.add(String(validatingCString: name), text, size: size)
                    return .YES
                }, fields)
        }
        return fields
    }
}
