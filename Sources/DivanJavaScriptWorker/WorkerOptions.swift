// SPDX-License-Identifier: Apache-2.0

/// What the parent says by arguments.
struct WorkerOptions {
    /// How much memory scripts may take beyond what the engine takes.
    private(set) var megabytes = 64
    /// How long a command may compute.
    private(set) var seconds: UInt32 = 5
    /// Whether the engine compiles to machine code, which needs memory that can be written and executed.
    private(set) var usesJIT = false
    private(set) var engine = WorkerEngine.javaScriptCore

    /// Reads the arguments; nil when one is not known, or no number that makes sense.
    init?(_ arguments: some Sequence<String>) {
        var rest = arguments.makeIterator()
        while let argument = rest.next() {
            switch argument {
            case "--jit": usesJIT = true
            case "--engine":
                guard let value = rest.next().flatMap({ WorkerEngine(rawValue: $0) })
                else { return nil }
                engine = value
            case "--memory":
                guard let value = rest.next().flatMap({ Int($0) }), (1...65_536).contains(value)
                else { return nil }
                megabytes = value
            case "--time":
                guard let value = rest.next().flatMap({ UInt32($0) }), (1...86_400).contains(value)
                else { return nil }
                seconds = value
            default: return nil
            }
        }
        // Then no memory needs to be both written and executed.
        if engine == .duktape { usesJIT = false }
    }

    /// The bytes of memory that scripts may take.
    var memory: Int { megabytes << 20 }

    /// The bytes that the address space may grow by. The allocator of JavaScriptCore reserves 64 MB at a time, most of which it never
    /// touches, so twice that is added; the parent counts what is touched.
    var addressSpace: Int { memory + (128 << 20) }

    /// The settings of the engine. Those of JavaScriptCore:
    ///
    /// - Without a cage for typed arrays, which reserves 64 GB of address space, the limit of memory holds for them, too.
    /// - The size of the machine's memory decides when garbage is collected, so a small one is pretended.
    /// - Up to so many bytes pile up before garbage is collected for the first time; its own setting is 1 MB, for which a map of
    ///   short documents takes a third longer.
    ///
    /// And for each engine:
    ///
    /// - Local times are those of UTC, on every machine: rows must not depend on where an index is built.
    var environment: [String] {
        [
            "JSC_useJIT=\(usesJIT ? 1 : 0)", "GIGACAGE_ENABLED=0",
            "JSC_forceRAMSize=\(megabytes << 22)",
            "JSC_smallHeapSize=\(min(max(megabytes / 8, 1), 8) << 20)", "TZ=UTC",
        ]
    }
}
