// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON

/// A list function at work: rows go to it, and what it writes is collected.
///
///     here                                    the process
///     ["ddoc",…,["lists","l"],[head,req]] ──►
///                                         ◄── ["start",["chunk"],{"headers":{…}}]
///     ["list_row",{"key":1,…}]            ──►
///                                         ◄── ["chunks",["chunk"]]
///     ["list_end"]                        ──►
///                                         ◄── ["end",["chunk"]]
///
/// The function may end before the rows do. The process is another request's once it has, and the client takes the answer after
/// that, as slowly as it likes.
struct ListRun {
    private let functions: DesignFunctions
    private var rows: ListingLines
    /// The status and the header fields, as far as the function has said them.
    private var head = ScriptedAnswer()
    private var text: LongText
    /// Whether it has asked for a row.
    private var hasStarted = false
    /// Whether it has written something, after which the head cannot change.
    private var hasWritten = false
    /// How many bytes it has written.
    private var written = 0
    /// The status of an answer that was to fail before anything of it was written.
    private var failed: Int?

    init(_ functions: DesignFunctions, _ rows: ListingLines, _ site: Site) {
        self.functions = functions
        self.rows = rows
        text = LongText(site)
    }

    /// Runs the function.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - request: What it is told of the request.
    /// - Returns: What it has written. When it failed after its first row, that stands at the end, in a line of its own.
    /// - Throws: What went wrong before.
    mutating func answer(_ name: String, _ request: JSONObject) throws -> ListenerResponse {
        let command = functions.command(
            ["lists", name], [try rows.head(), ScriptText.text(.object(request))])
        do {
            try functions.withProcess { process throws(ScriptError) in
                converse(with: process, command)
            }.get()
        } catch {
            guard hasStarted else { throw error }
            try end(with: error)
        }
        var response = head.response(body: try text.body())
        if let failed { response.status = failed }
        return response
    }

    private mutating func converse(
        with process: any ScriptProcess, _ command: [UInt8]
    ) -> Result<Void, any Error> {
        var command = command
        let end = ContinuousClock.now + Self.longest
        while true {
            let answer: ScriptAnswer
            do { answer = try process.ask(command) } catch { return .failure(error) }
            var isOver = false
            do {
                let value = try functions.value(of: answer)
                isOver = value[0]?.string == "end"
                try take(value)
                if isOver { return .success(()) }
                try CancellationFlag.check()
                guard ContinuousClock.now < end, written <= Self.mostBytes else {
                    throw ScriptError(
                        .answerLimit, "A list function took too long, or wrote too much.")
                }
                command = try rows.next().map { ScriptText.command("list_row", $0) } ?? Self.end
            } catch {
                // It waits for a row, and must not take another request's command for one.
                if !isOver { _ = try? process.ask(Self.end) }
                return .failure(error)
            }
        }
    }

    /// How long a list may take, whatever each row does, and how many bytes it may write.
    private static let (longest, mostBytes) = (Duration.seconds(60), 256 << 20)
    private static let end = Array(#"["list_end"]"#.utf8)

    private mutating func take(_ value: PackedValue) throws {
        guard let label = value[0]?.string, let chunks = value[1],
            ["start", "chunks", "end"].contains(label)
        else { throw ScriptError.workerFailed }
        hasStarted = true
        if !hasWritten, let head = value[2] { self.head = try ScriptedAnswer(head) }
        chunks.forEachElement { chunk in
            guard !chunk.isNull else { return }
            let bytes = Array((chunk.string ?? chunk.jsonText).utf8)
            hasWritten = hasWritten || !bytes.isEmpty
            text.text.bytes += bytes
            written += bytes.count
        }
        try text.settle()
    }

    /// Tells in the answer that it is not whole.
    private mutating func end(with error: any Error) throws {
        let failure = ErrorResponse.failure(for: error)
        if !hasWritten { failed = failure.status }
        // A script may say how an answer ends that has begun.
        if let reason = try? JSONParser.parse(failure.reason), let object = reason.object,
            object.count == 1, let body = object["body"]?.string
        {
            text.text.bytes += body.utf8
        } else {
            text.text.bytes.append(JSONByte.lineFeed)
            text.text.value([
                "code": JSONValue(failure.status), "error": .string(failure.error),
                "reason": .string(failure.reason),
            ])
            text.text.bytes.append(JSONByte.lineFeed)
        }
        try text.settle()
    }
}
