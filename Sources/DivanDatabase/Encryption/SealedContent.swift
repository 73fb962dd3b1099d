// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform
internal import Synchronization

/// The form in which the content of an attachment lies in the file of an encrypted database.
///
///     offset   size
///       0        8   "DIVANC01"
///       8       32   random; the key of this file is HMAC-SHA-256(key of contents, these)
///      40       28   sealed: the SHA-1 of the content, its length (8, big-endian)
///      68       16   the tag of these
///      84    65536   sealed: the first chunk of the content
///   65620       16   its tag
///     …              more chunks; the last one is shorter, unless the content is empty
///
/// All are sealed by AES-256-GCM with the file's own key. The nonce is the number of the chunk in 12
/// bytes, big-endian, from 1; 0 is what stands before the chunks. So chunks cannot change places, and
/// files cannot, since each says whose content it is; the length says where it ends. A range is read by
/// opening the chunks it touches.
///
/// A file is sealed once, under a key nobody else ever has, so no nonce comes twice.
enum SealedContent {
    static let magic = Array("DIVANC01".utf8)
    static let saltSize = 32
    private static let identitySize = AttachmentKey.byteCount + 8
    static let headerSize = magic.count + saltSize + identitySize + SealingCipher.tagSize
    static let chunkSize = 65_536
    static let sealedChunkSize = chunkSize + SealingCipher.tagSize

    /// The length of the content in a file of a size, going by the size alone; nil when it is too short.
    static func length(ofFile size: Int) -> Int? {
        let body = size - headerSize
        guard body >= 0 else { return nil }
        let rest = body % sealedChunkSize
        guard rest == 0 || rest > SealingCipher.tagSize else { return nil }
        return body / sealedChunkSize * chunkSize + max(0, rest - SealingCipher.tagSize)
    }

    static func nonce(_ number: Int) -> [UInt8] {
        var nonce: [UInt8] = [0, 0, 0, 0]
        nonce.append(bigEndian64: UInt64(number))
        return nonce
    }

    static func cipher(_ dataKey: DataKey, salt: [UInt8]) -> SealingCipher {
        SealingCipher(key: KeyDerivation.subkey(of: dataKey.contents, for: salt))
    }

    /// What stands before the chunks.
    static func header(
        _ cipher: SealingCipher, salt: [UInt8], _ key: AttachmentKey?, length: Int
    ) -> [UInt8] {
        let sealed = cipher.seal(
            identity(key, length).span, nonce: nonce(0), associated: magic + salt)
        return magic + salt + sealed
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
            try append([UInt8](repeating: 0, count: SealedContent.headerSize))
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

    private func seal(_ range: Range<Int>, _ cipher: SealingCipher) throws(SystemError) {
        chunks += 1
        // A local copy of the reference: the span of a class's own array cannot be held on to.
        let buffer = buffer
        let sealed = cipher.seal(
            buffer.span.extracting(range), nonce: SealedContent.nonce(chunks), associated: [])
        try append(sealed)
    }
}

/// An open file with content, read as the content, whether it is sealed or not. Any number of threads.
///
/// State: the cipher and the chunk that was opened last, guarded by the mutex.
final class ContentFile: Sendable {
    private struct Opened {
        var cipher: SealingCipher
        var number = 0
        var chunk: [UInt8] = []
    }

    private let file: FileHandle
    private let sealedLength: Int
    private let opened: Mutex<Opened?>

    /// A file that is not sealed.
    init(_ file: FileHandle) {
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
        let header = try file.read(at: 0, upTo: SealedContent.headerSize)
        let saltEnd = SealedContent.magic.count + SealedContent.saltSize
        guard header.count == SealedContent.headerSize, header.starts(with: SealedContent.magic)
        else { throw SystemError.notGenuine(file.path) }
        let salt = Array(header[SealedContent.magic.count..<saltEnd])
        let cipher = SealedContent.cipher(dataKey, salt: salt)
        let identity = cipher.open(
            header.span.extracting(saltEnd...), nonce: SealedContent.nonce(0),
            associated: SealedContent.magic + salt)
        guard let identity, let length = Self.length(identity, key),
            file.length.flatMap(SealedContent.length(ofFile:)) == length
        else { throw SystemError.notGenuine(file.path) }
        sealedLength = length
        opened = Mutex(Opened(cipher: cipher))
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
    func read(at offset: Int, upTo count: Int) throws(SystemError) -> [UInt8] {
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
        guard let cipher = opened?.cipher, opened?.number != number else { return }
        let start = SealedContent.headerSize + (number - 1) * SealedContent.sealedChunkSize
        let bytes = try file.read(at: start, upTo: SealedContent.sealedChunkSize)
        guard
            let chunk = cipher.open(
                bytes.span, nonce: SealedContent.nonce(number), associated: [])
        else { throw SystemError.notGenuine(file.path) }
        opened?.number = number
        opened?.chunk = chunk
    }
}
