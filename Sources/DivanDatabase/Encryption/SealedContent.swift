// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform
package import DivanSystem
internal import Synchronization

/// The form in which the content of an attachment lies in the file of an encrypted database.
///
///     offset   size
///       0        8   "DIVANC02"
///       8       32   random; the key of this file is HMAC-SHA-256(key of contents, these)
///      40       28   sealed: the SHA-1 of the content, its length (8, big-endian)
///      68       16   the tag of these
///      84        8   the random part of their nonce
///      92    65536   sealed: the first chunk of the content
///   65628       16   its tag
///   65644        8   the random part of its nonce
///     …              more chunks; the last one is shorter, unless the content is empty
///
/// All are sealed by AES-256-GCM with the file's own key. A nonce is 8 random bytes, drawn for the one chunk, and the
/// number of the chunk, from 1, in 4 bytes, big-endian; 0 is what stands before the chunks. So chunks cannot change
/// places, and files cannot, since each says whose content it is; the length says where it ends. A range is read by
/// opening the chunks it touches.
///
/// A file is sealed once, under a key that no other file has, so in one process the number alone makes each nonce of a
/// file differ from the others. The random bytes are for copies of a running process, which go on with the same key: two
/// that seal different content as the same chunk meet the same nonce with a probability of 2^-64.
///
/// Files of before have no random bytes (`Form.counted`): they are read, and no more are written.
enum SealedContent {
    /// How a file is laid out, which its first bytes say.
    enum Form {
        /// Nonces are counted, and stand nowhere.
        case counted
        /// Nonces have a random part, which stands behind each tag.
        case drawn

        var magic: [UInt8] { Array(self == .counted ? "DIVANC01".utf8 : "DIVANC02".utf8) }
        /// The bytes of the random part of a nonce.
        private var drawnSize: Int { self == .counted ? 0 : 8 }
        /// What stands behind what is sealed.
        var trailerSize: Int { SealingCipher.tagSize + drawnSize }
        var headerSize: Int { magicSize + saltSize + identitySize + trailerSize }
        var sealedChunkSize: Int { chunkSize + trailerSize }

        /// The form of the file that begins with these bytes; nil when it is no such file.
        init?(magic: some Collection<UInt8>) {
            let form: Form? = [.counted, .drawn].first { magic.elementsEqual($0.magic) }
            guard let form else { return nil }
            self = form
        }

        /// The length of the content in a file of a size, going by the size alone; nil when it is too short.
        func length(ofFile size: Int) -> Int? {
            let body = size - headerSize
            guard body >= 0 else { return nil }
            let rest = body % sealedChunkSize
            guard rest == 0 || rest > trailerSize else { return nil }
            return body / sealedChunkSize * chunkSize + max(0, rest - trailerSize)
        }

        /// The nonce of a chunk whose random part is known.
        private func nonce(_ number: Int, _ drawn: some Collection<UInt8>) -> [UInt8] {
            var nonce: [UInt8] = []
            nonce.append(bigEndian64: UInt64(number))
            return self == .counted ? [0, 0, 0, 0] + nonce : Array(drawn) + nonce.suffix(4)
        }

        /// Seals a chunk, or with the number 0 what stands before all of them.
        ///
        /// - Returns: What is sealed, its tag, and the random part of its nonce.
        func seal(
            _ bytes: Span<UInt8>, _ number: Int, by cipher: SealingCipher,
            associated: [UInt8] = []
        ) -> [UInt8] {
            var drawn: [UInt8] = []
            if self == .drawn { drawn.append(bigEndian64: Self.drawnBits()) }
            return cipher.seal(bytes, nonce: nonce(number, drawn), associated: associated) + drawn
        }

        /// The random part of a nonce, drawn from the operating system each time, so that copies of a running process draw
        /// others.
        ///
        /// The clock is mixed in, for a virtual machine that cannot tell its system that it was copied, whose random bytes
        /// then are copied, too.
        private static func drawnBits() -> UInt64 {
            var system = SystemRandomNumberGenerator()
            return system.next() ^ UInt64(truncatingIfNeeded: WallClock.nanosecondsOfSecond)
        }

        /// Opens what was sealed; nil when it is not genuine.
        func open(
            _ bytes: [UInt8], _ number: Int, by cipher: SealingCipher, associated: [UInt8] = []
        ) -> [UInt8]? {
            guard bytes.count >= trailerSize else { return nil }
            let end = bytes.count - drawnSize
            return cipher.open(
                bytes.span.extracting(..<end), nonce: nonce(number, bytes[end...]),
                associated: associated)
        }
    }

    /// The form of the files that are written.
    static let form = Form.drawn
    static let magicSize = 8
    static let saltSize = 32
    private static let identitySize = AttachmentKey.byteCount + 8
    static let chunkSize = 65_536
    /// The number of the last chunk that a nonce can name.
    static let lastChunk = Int(UInt32.max)

    static func cipher(_ dataKey: DataKey, salt: [UInt8]) -> SealingCipher {
        SealingCipher(key: KeyDerivation.subkey(of: dataKey.contents, for: salt))
    }

    /// What stands before the chunks.
    static func header(
        _ cipher: SealingCipher, salt: [UInt8], _ key: AttachmentKey?, length: Int
    ) -> [UInt8] {
        let start = form.magic + salt
        return start + form.seal(identity(key, length).span, 0, by: cipher, associated: start)
    }

    /// Content without a key is a temporary file's that has no name.
    static func identity(_ key: AttachmentKey?, _ length: Int) -> [UInt8] {
        var identity = key?.bytes ?? [UInt8](repeating: 0, count: AttachmentKey.byteCount)
        identity.append(bigEndian64: UInt64(length))
        return identity
    }
}

/// Writes content into a file as it comes, sealed when there is a key. One thread at a time.
final class ContentWriter {
    private let file: FileHandle
    private let cipher: SealingCipher?
    private let salt: [UInt8]
    private var buffer: [UInt8] = []
    private var chunks = 0
    /// The bytes of the file so far, and how many of them the system was told to write.
    private var fileLength = 0
    private var begunLength = 0
    /// The bytes so far.
    private(set) var length = 0

    /// How much the system is told to write at a time.
    private static let writingSize = 8 << 20

    /// Begins to write an empty file.
    init(_ file: FileHandle, dataKey: DataKey?) throws(SystemError) {
        self.file = file
        salt = dataKey == nil ? [] : SecureRandom.bytes(SealedContent.saltSize)
        cipher = dataKey.map { [salt] in SealedContent.cipher($0, salt: salt) }
        // The header is known at the end.
        if cipher != nil {
            try append([UInt8](repeating: 0, count: SealedContent.form.headerSize))
        }
    }

    private func append(_ bytes: [UInt8]) throws(SystemError) {
        try file.write(bytes)
        fileLength += bytes.count
        guard fileLength - begunLength >= Self.writingSize else { return }
        file.beginWriting(begunLength..<fileLength)
        begunLength = fileLength
    }

    /// Appends a piece.
    func write(_ piece: [UInt8]) throws(SystemError) {
        length += piece.count
        guard let cipher else { return try append(piece) }
        buffer += piece
        var start = 0
        while buffer.count - start >= SealedContent.chunkSize {
            try seal(start..<start + SealedContent.chunkSize, cipher)
            start += SealedContent.chunkSize
        }
        if start > 0 { buffer.removeFirst(start) }
    }

    /// Ends the content, which is now known to be that of a key.
    func finish(_ key: AttachmentKey?) throws(SystemError) {
        guard let cipher else { return }
        if !buffer.isEmpty { try seal(0..<buffer.count, cipher) }
        buffer = []
        try file.overwrite(
            SealedContent.header(cipher, salt: salt, key, length: length))
    }

    /// Forces what was written to the disk.
    func synchronise() throws(SystemError) { try file.synchronise() }

    private func seal(_ range: Range<Int>, _ cipher: SealingCipher) throws(SystemError) {
        guard chunks < SealedContent.lastChunk else {
            throw SystemError.tooLarge(file.path)
        }
        chunks += 1
        // A local copy of the reference: the span of a class's own array cannot be held on to.
        let buffer = buffer
        try append(
            SealedContent.form.seal(buffer.span.extracting(range), chunks, by: cipher))
    }
}

/// An open file with content, read as the content, whether it is sealed or not. Any number of threads.
///
/// State: the cipher and the chunk that was opened last, guarded by the mutex.
package final class ContentFile: Sendable {
    private struct Opened {
        var form: SealedContent.Form
        var cipher: SealingCipher
        var number = 0
        var chunk: [UInt8] = []
    }

    private let file: FileHandle
    private let sealedLength: Int
    private let opened: Mutex<Opened?>

    /// A file that is not sealed.
    package init(_ file: FileHandle) {
        self.file = file
        sealedLength = 0
        opened = Mutex(nil)
    }

    /// A file of a store with a key, or without one.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - dataKey: The key of the store's data.
    ///   - key: Whose content it must be; nil for a temporary file.
    /// - Throws: `SystemError` with `EBADMSG` when it is not, or was changed.
    init(_ file: FileHandle, dataKey: DataKey?, _ key: AttachmentKey?) throws(SystemError) {
        self.file = file
        guard let dataKey else {
            sealedLength = 0
            opened = Mutex(nil)
            return
        }
        let start = try file.read(at: 0, upTo: SealedContent.Form.drawn.headerSize)
        let saltEnd = SealedContent.magicSize + SealedContent.saltSize
        guard let form = SealedContent.Form(magic: start.prefix(SealedContent.magicSize)),
            start.count >= form.headerSize
        else { throw SystemError.notGenuine(file.path) }
        let proven = Array(start[..<saltEnd])
        let cipher = SealedContent.cipher(
            dataKey, salt: Array(proven[SealedContent.magicSize...]))
        let identity = form.open(
            Array(start[saltEnd..<form.headerSize]), 0, by: cipher, associated: proven)
        guard let identity, let length = Self.length(identity, key),
            file.length.flatMap(form.length(ofFile:)) == length
        else { throw SystemError.notGenuine(file.path) }
        sealedLength = length
        opened = Mutex(Opened(form: form, cipher: cipher))
    }

    private static func length(_ identity: [UInt8], _ key: AttachmentKey?) -> Int? {
        let length = identity.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let length = Int(exactly: length),
            identity == SealedContent.identity(key, length)
        else { return nil }
        return length
    }

    /// The length of the content.
    var length: Int? {
        opened.withLock { $0 == nil ? nil : sealedLength } ?? file.length
    }

    /// Reads up to `count` bytes from an offset on; fewer only at the end.
    package func read(at offset: Int, upTo count: Int) throws(SystemError) -> [UInt8] {
        let sealed = try opened.withLock { (opened) throws(SystemError) -> [UInt8]? in
            guard opened != nil else { return nil }
            return try readSealed(offset, min(count, max(0, sealedLength - offset)), &opened)
        }
        if let sealed { return sealed }
        return try file.read(at: offset, upTo: count)
    }

    private func readSealed(_ offset: Int, _ count: Int, _ opened: inout Opened?)
        throws(SystemError) -> [UInt8]
    {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let at = offset + bytes.count
            try open(at / SealedContent.chunkSize + 1, &opened)
            guard let chunk = opened?.chunk else { break }
            let start = at % SealedContent.chunkSize
            let end = min(chunk.count, start + count - bytes.count)
            guard start < end else { throw SystemError.notGenuine(file.path) }
            bytes += chunk[start..<end]
        }
        return bytes
    }

    private func open(_ number: Int, _ opened: inout Opened?) throws(SystemError) {
        guard let form = opened?.form, let cipher = opened?.cipher, opened?.number != number
        else { return }
        let start = form.headerSize + (number - 1) * form.sealedChunkSize
        let bytes = try file.read(at: start, upTo: form.sealedChunkSize)
        guard let chunk = form.open(bytes, number, by: cipher) else {
            throw SystemError.notGenuine(file.path)
        }
        opened?.number = number
        opened?.chunk = chunk
    }
}
