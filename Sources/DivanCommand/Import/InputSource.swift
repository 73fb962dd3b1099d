// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// The bytes of a file or of standard input, in chunks.
///
/// A read waits for input in slices of 100 ms, so that Control-C is noticed while a pipe is silent.
final class InputSource {
    /// 256 kB: system calls are then nothing beside the parsing, and it stays in the cache.
    private static let chunkSize = 1 << 18
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// What messages call the input.
    let name: String
    /// The length, if it is known.
    let size: Int?
    private let descriptor: Int32
    private let interruption: Interruption
    private var head: [UInt8] = []
    private var buffer: [UInt8]
    private var isAtEnd = false
    /// How many bytes have been read.
    private(set) var position = 0

    /// Opens a file, or with "-" standard input.
    init(path: String, interruption: Interruption) throws(CommandFailure) {
        let isStandardInput = path == "-"
        name = isStandardInput ? "standard input" : path
        if isStandardInput {
            descriptor = Descriptors.standardInput
        } else {
            do {
                descriptor = try Descriptors.open(path, [.read, .waits])
            } catch {
                let status: ExitCode = error.isMissing ? .notFound : .failure
                throw CommandFailure(status, "\(path) cannot be opened: \(error.reason).")
            }
        }
        size = Descriptors.regularFileSize(descriptor)
        self.interruption = interruption
        buffer = []
    }

    deinit {
        if descriptor != Descriptors.standardInput { Descriptors.close(descriptor) }
    }

    /// Reads ahead; what is read comes again from `nextChunk`.
    ///
    /// - Returns: As much of the beginning as shows the format, but for a byte order mark.
    func readHead() throws(CommandFailure) -> [UInt8] {
        while head.count < InputHead.size, !InputHead(head.span).isTelling, try fill() {
            let isFirst = head.isEmpty
            head += buffer
            if isFirst, head.starts(with: Self.byteOrderMark) {
                head.removeFirst(Self.byteOrderMark.count)
            }
        }
        return head
    }

    /// Lends the next chunk to `body`; false at the end of the input.
    func nextChunk(_ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        if !head.isEmpty {
            let chunk = head
            head = []
            try body(chunk.span)
            return true
        }
        guard try fill() else { return false }
        let chunk = buffer
        buffer = []
        try body(chunk.span)
        buffer = chunk
        return true
    }

    /// Whether a chunk comes, or the end, within some time.
    func isReady(within milliseconds: Int32) -> Bool {
        !head.isEmpty || size != nil
            || Descriptors.waitUntilReadable(descriptor, milliseconds: milliseconds)
    }

    /// Reads everything. For input that is one document.
    func readAll() throws(CommandFailure) -> [UInt8] {
        var all = try readHead()
        while try fill() { all += buffer }
        return all
    }

    /// Reads everything, unless it is longer than some bytes.
    ///
    /// - Throws: `CommandFailure` when it is.
    func readAll(upTo limit: Int) throws(CommandFailure) -> [UInt8] {
        var all = try readHead()
        while all.count <= limit, try fill() { all += buffer }
        guard all.count <= limit else {
            throw CommandFailure(
                .badInput, "\(name) is longer than \(Quantity.bytes(limit)); make it shorter.")
        }
        return all
    }

    private func fill() throws(CommandFailure) -> Bool {
        guard !isAtEnd else { return false }
        try interruption.check()
        while size == nil, !Descriptors.waitUntilReadable(descriptor, milliseconds: 100) {
            try interruption.check()
        }
        let missing = Self.chunkSize - buffer.count
        if missing > 0 { buffer.append(contentsOf: repeatElement(0, count: missing)) }
        let count: Int
        do {
            count = try Descriptors.readSome(descriptor, into: &buffer)
        } catch {
            throw CommandFailure(.failure, "\(name) cannot be read: \(error.reason).")
        }
        buffer.removeLast(buffer.count - count)
        position += count
        isAtEnd = count == 0
        return count > 0
    }
}
