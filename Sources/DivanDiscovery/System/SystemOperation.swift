// SPDX-License-Identifier: Apache-2.0

internal import CDNSSD
internal import Dispatch
internal import Synchronization

/// Something that the system's service does until it is closed, or let go. What it says is handed over on a queue.
final class SystemOperation: Sendable {
    /// What is asked of the service.
    enum Request: Sendable {
        case register(OfferedService)
        case browse(ServiceType)
        case resolve(String, ServiceType)
        case addresses(host: String, DNSType)
    }

    /// What the service says.
    struct Event: Sendable {
        /// 0, or why it ends.
        var error: Int32
        /// Whether what was found is there, or is gone.
        var isThere: Bool
        /// The system's number of the interface.
        var interface: UInt32
        /// A name or a host; nil where it is no UTF-8.
        var name: String?
        var port: UInt16
        /// A text, or an address.
        var bytes: [UInt8]
    }

    /// The number of the operation, which is its descriptor.
    let descriptor: Int32
    private let source: Mutex<(any DispatchSourceProtocol)?>

    /// - Parameters:
    ///   - request: What is asked of the service.
    ///   - queue: Where what it says is handed over, and on which this is called.
    ///   - handler: Takes what it says.
    /// - Throws: `DiscoveryError` with code `.serviceUnavailable`.
    init(
        _ request: Request, on queue: DispatchQueue,
        handler: @escaping @Sendable (SystemOperation, Event) -> Void
    ) throws(DiscoveryError) {
        let descriptor = Self.begin(request)
        guard descriptor >= 0 else { throw .noService(descriptor) }
        self.descriptor = descriptor
        source = Mutex(nil)
        source.withLock { place in
            let source = Self.makeSource(descriptor, queue)
            source.setEventHandler { [weak self] in self?.read(handler) }
            source.setCancelHandler { divan_dnssd_close(descriptor) }
            source.resume()
            place = source
        }
    }

    deinit { close() }

    /// Ends it.
    func close() {
        source.withLock { source in
            source?.cancel()
            source = nil
        }
    }

    /// Announces another text; false where that is not possible.
    func setText(_ text: ServiceText) -> Bool {
        // Once it is closed, the descriptor may be another operation's.
        guard source.withLock({ $0 != nil }) else { return false }
        let bytes = text.wire
        // SAFETY: the bytes are lent to the call with their length.
        return unsafe bytes.withUnsafeBufferPointer {
            unsafe divan_dnssd_set_text(descriptor, $0.baseAddress, $0.count) == 0
        }
    }

    /// Says why the service cannot be used; nil when it can.
    static func trial() -> DiscoveryError? {
        let descriptor = begin(.browse(.divan))
        guard descriptor >= 0 else { return .noService(descriptor) }
        divan_dnssd_close(descriptor)
        return nil
    }

    private static func begin(_ request: Request) -> Int32 {
        switch request {
        // SAFETY: texts and bytes are lent to the calls, bytes with their length.
        case .browse(let type): return unsafe divan_dnssd_browse(type.description)
        case .resolve(let name, let type): return unsafe divan_dnssd_resolve(name, type.description)
        case .addresses(let host, let type): return unsafe divan_dnssd_query(host, type.rawValue)
        case .register(let service):
            let text = service.text.wire
            return unsafe text.withUnsafeBufferPointer {
                unsafe divan_dnssd_register(
                    service.name, service.type.description, service.port, $0.baseAddress, $0.count)
            }
        }
    }

    private static func makeSource(
        _ descriptor: Int32, _ queue: DispatchQueue
    ) -> any DispatchSourceProtocol {
        DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    }

    private func read(_ handler: (SystemOperation, Event) -> Void) {
        let error = divan_dnssd_process(descriptor)
        while let event = next() { handler(self, event) }
        guard error != 0 else { return }
        handler(
            self,
            Event(error: error, isThere: false, interface: 0, name: nil, port: 0, bytes: []))
    }

    private func next() -> Event? {
        var event = divan_dnssd_event()
        var buffer = [UInt8](repeating: 0, count: DNSMessage.longest + 1)
        // SAFETY: the buffer is valid for the call, and its length is passed with it.
        let isTaken = unsafe buffer.withUnsafeMutableBufferPointer {
            unsafe divan_dnssd_next(descriptor, &event, $0.baseAddress, $0.count)
        }
        guard isTaken != 0 else { return nil }
        // SAFETY: the name is lent to the copy.
        let name = unsafe withUnsafeBytes(of: event.name) {
            unsafe String(validating: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return Event(
            error: event.error, isThere: event.is_there != 0, interface: event.interface,
            name: name, port: event.port, bytes: Array(buffer.prefix(event.count)))
    }
}

extension ServiceText {
    /// The text as the content of its record.
    var wire: [UInt8] {
        strings.isEmpty ? [0] : strings.flatMap { [UInt8(clamping: $0.count)] + $0 }
    }
}

extension DiscoveryError {
    /// The system's service has refused an operation.
    static func noService(_ error: Int32) -> DiscoveryError {
        let isMissing = Int(error) == DIVAN_DNSSD_MISSING
        return DiscoveryError(
            .serviceUnavailable,
            isMissing
                ? "The system has no library for DNS-SD, libdns_sd.so.1; install that of Avahi, or use Discovery(.own)."
                : "The system's service for DNS-SD does not answer (\(error)); start avahi-daemon, or use Discovery(.own)."
        )
    }
}
