// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Targets stand in the order of the module graph in ARCHITECTURE.md: values and seams first, the
// program last. A target imports only targets above it.
let package = Package(
    name: "Divan",
    // Linux is what is built and tested. macOS 15 is the oldest whose standard library the sources can use;
    // iOS lacks the C libraries below, so it is not named.
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Divan", targets: ["Divan"]),
        .library(name: "DivanLMDB", targets: ["DivanLMDB"]),
        .library(name: "DivanListener", targets: ["DivanListener"]),
        .library(name: "DivanConsole", targets: ["DivanConsole"]),
        .library(name: "DivanDiscovery", targets: ["DivanDiscovery"]),
        .library(name: "DivanPeers", targets: ["DivanPeers"]),
        .library(name: "DivanJavaScript", targets: ["DivanJavaScript"]),
        .executable(name: "divan", targets: ["DivanCommand"]),
        .executable(name: "divan-javascript", targets: ["DivanJavaScriptWorker"]),
    ],
    targets: [
        // C modules. Each shows a system library behind opaque types. Most have only shims; CChecksum, CReadAhead,
        // CSQLite, CPageCodec and COpenSSL have code of their own, which ARCHITECTURE.md names.
        .target(name: "CChecksum"),
        .target(name: "CReadAhead"),
        .target(
            name: "CICU",
            linkerSettings: [.linkedLibrary("icui18n"), .linkedLibrary("icuuc")]
        ),
        .target(
            name: "CCurl",
            linkerSettings: [
                .linkedLibrary("curl"), .linkedLibrary("ssl"), .linkedLibrary("crypto"),
            ]
        ),
        .target(name: "COpenSSL", linkerSettings: [.linkedLibrary("crypto")]),
        .target(name: "CZlib", linkerSettings: [.linkedLibrary("z")]),
        .target(name: "CStemmer", linkerSettings: [.linkedLibrary("stemmer")]),
        .target(
            name: "CSQLite", dependencies: ["CReadAhead"],
            linkerSettings: [.linkedLibrary("sqlite3")]
        ),
        .target(name: "CLMDB", linkerSettings: [.linkedLibrary("lmdb")]),
        .target(
            name: "CPageCodec",
            linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("crypto")]
        ),
        .target(
            name: "CMicroHTTPD",
            linkerSettings: [.linkedLibrary("microhttpd"), .linkedLibrary("gnutls")]
        ),

        .target(name: "CQRCode", linkerSettings: [.linkedLibrary("qrencode")]),
        .target(name: "CMulticast"),
        // It loads the library of the system's DNS-SD when that is first used, and links none.
        .target(name: "CDNSSD"),
        // It loads the engine when that is asked for, too. The prelude is a part of its source.
        .target(name: "CScriptEngine", exclude: ["prelude.js"]),
        .target(name: "CSandbox"),
        // The files of Console/, which its source names.
        .target(name: "CConsole"),
        // scripts/package says which commit it builds from.
        .target(
            name: "CBuildInformation",
            cSettings: Context.environment["DIVAN_COMMIT"].map {
                [.define("DIVAN_COMMIT", to: "\"\($0)\"")]
            }
        ),
        // The system's C library, whose name differs between systems.
        .target(name: "CLibrary"),

        // 0: values and the system.
        .target(name: "DivanJSON"),
        .target(name: "DivanSystem", dependencies: ["CLibrary"]),

        // 1: the log, the storage seam, the domain, the platform.
        .target(name: "DivanLogging", dependencies: ["DivanSystem"]),
        .target(name: "DivanStorage", dependencies: ["DivanSystem", "CChecksum"]),
        .target(name: "DivanModel", dependencies: ["DivanJSON"]),
        .target(
            name: "DivanPlatform",
            dependencies: ["DivanJSON", "DivanSystem", "CICU", "COpenSSL", "CStemmer", "CZlib"]
        ),

        // The wire.
        .target(
            name: "DivanHTTP",
            dependencies: ["DivanJSON", "DivanSystem", "CCurl", "COpenSSL", "CZlib"]
        ),

        // Services on the local network: multicast DNS.
        .target(name: "DivanDiscovery", dependencies: ["CDNSSD", "CMulticast"]),

        // The program that runs scripts of design documents.
        .executableTarget(
            name: "DivanJavaScriptWorker",
            dependencies: ["CScriptEngine", "CSandbox", "CLibrary", "DivanSystem"]
        ),
        // 2: the engines.
        .target(
            name: "DivanSQLite",
            dependencies: ["DivanStorage", "DivanSystem", "CSQLite", "CPageCodec"]
        ),
        .target(
            name: "DivanLMDB",
            dependencies: ["DivanStorage", "DivanSystem", "CLibrary", "CLMDB", "CReadAhead"]
        ),

        // Sorted rows with stored partial reductions, over any engine.
        .target(name: "DivanIndex", dependencies: ["DivanJSON", "DivanModel", "DivanStorage"]),

        // 3: the database.
        .target(
            name: "DivanDatabase",
            dependencies: [
                "DivanJSON", "DivanSystem", "DivanLogging", "DivanModel", "DivanPlatform",
                "DivanStorage", "DivanSQLite", "DivanIndex",
            ]
        ),

        // 4: indexes and the queries that read them.
        .target(
            name: "DivanQuery",
            dependencies: [
                "DivanDatabase", "DivanIndex", "DivanJSON", "DivanLogging", "DivanModel",
                "DivanPlatform", "DivanStorage", "DivanSystem", "CLibrary",
            ]
        ),
        // 5: work on whole databases, and replication.
        .target(
            name: "DivanMaintenance",
            dependencies: [
                "DivanQuery", "DivanDatabase", "DivanJSON", "DivanLogging", "DivanModel",
                "DivanSQLite", "DivanStorage", "DivanSystem",
            ]
        ),
        // Design documents and their functions; what runs these stands above.
        .target(
            name: "DivanDesign",
            dependencies: [
                "DivanQuery", "DivanDatabase", "DivanModel", "DivanPlatform", "DivanJSON",
                "DivanLogging",
            ]
        ),
        .target(
            name: "DivanReplication",
            dependencies: [
                "DivanQuery", "DivanDatabase", "DivanHTTP", "DivanModel", "DivanJSON",
                "DivanLogging", "DivanSystem",
            ]
        ),

        // Scripts in processes of their own: the side that starts them.
        .target(
            name: "DivanJavaScript", dependencies: ["DivanDesign", "DivanJSON", "DivanSystem"]
        ),

        // 6: one import for apps, and the server.
        .target(
            name: "Divan",
            dependencies: [
                "DivanDesign", "DivanMaintenance", "DivanQuery", "DivanReplication",
                "DivanDatabase",
                "DivanModel", "DivanJSON", "DivanLogging", "DivanStorage",
            ]
        ),

        .target(
            name: "DivanListener",
            dependencies: [
                "DivanDesign", "DivanReplication", "DivanMaintenance", "DivanQuery",
                "DivanDatabase",
                "DivanHTTP", "DivanJSON", "DivanLogging", "DivanModel", "DivanPlatform",
                "DivanSystem", "CMicroHTTPD",
                "COpenSSL",
            ]
        ),

        // The console: a web application that a listener serves. Apps that do not import it have none of its files.
        .target(name: "DivanConsole", dependencies: ["DivanListener", "DivanJSON", "CConsole"]),

        // 7: devices that meet: links and QR codes, pairing, and synchronisation without a server.
        .target(
            name: "DivanPeers",
            dependencies: [
                "DivanListener", "DivanDiscovery", "DivanReplication", "DivanDatabase", "DivanHTTP",
                "DivanJSON", "DivanLogging", "DivanSystem", "CQRCode", "CZlib",
            ]
        ),

        // 8: the program.
        .executableTarget(
            name: "DivanCommand",
            dependencies: [
                "DivanPeers", "DivanConsole", "DivanListener", "DivanJavaScript",
                "DivanReplication", "Divan",
                "DivanHTTP",
                "DivanLMDB",
                "DivanModel",
                "DivanJSON",
                "DivanStorage", "DivanSystem", "CBuildInformation",
            ]
        ),

        // Examples: one is run by `make demo`; the first program is run by the tests, and it is also a
        // package of its own, as a user's would be.
        .executableTarget(name: "DivanDemo", dependencies: ["Divan"], path: "Examples/Demo"),
        .executableTarget(
            name: "DivanGettingStarted",
            dependencies: ["Divan"],
            path: "Examples/GettingStarted/Sources/GettingStarted"
        ),
        // Apps of two devices: tasks that are shared, and pictures that are sent.
        .executableTarget(
            name: "DivanTodoLite", dependencies: ["Divan", "DivanListener", "DivanPeers"],
            path: "Examples/TodoLite", exclude: ["README.md", "session.svg"]
        ),
        .executableTarget(
            name: "DivanPhotoDrop", dependencies: ["Divan", "DivanListener", "DivanPeers"],
            path: "Examples/PhotoDrop", exclude: ["README.md", "session.svg"]
        ),

        // What only tests use: the suite that every storage engine runs, seeded randomness, golden
        // scripts, and the child process that is killed.
        .target(
            name: "CFaultVFS", path: "Tests/CFaultVFS",
            linkerSettings: [.linkedLibrary("sqlite3")]
        ),
        .target(
            name: "DivanStorageConformance", dependencies: ["DivanStorage", "CFaultVFS"],
            path: "Tests/StorageConformance"
        ),
        .target(name: "CSpawn", path: "Tests/CSpawn"),
        .target(
            name: "DivanTestSupport",
            dependencies: [
                "DivanJSON", "DivanModel", "DivanDatabase", "DivanLMDB", "DivanSystem", "CSpawn",
            ],
            path: "Tests/TestSupport"
        ),
        .executableTarget(
            name: "DivanTestChild",
            dependencies: [
                "Divan", "DivanLMDB", "DivanDiscovery", "DivanHTTP", "DivanListener", "DivanSQLite",
                "DivanStorage", "DivanTestSupport", "CSpawn",
            ],
            path: "Tests/DivanTestChild"
        ),
        // The comparison with other servers: scripts/interop runs it.
        .executableTarget(
            name: "DivanInterop",
            dependencies: [
                "Divan", "DivanDatabase", "DivanHTTP", "DivanJSON", "DivanListener", "DivanModel",
                "DivanReplication", "DivanTestSupport",
            ],
            path: "Tests/DivanInterop"
        ),

        // What scripts/fuzz feeds: readers of bytes that strangers write.
        .target(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .target(
            name: "DivanFuzzTargets",
            dependencies: [
                "Divan", "DivanDesign", "DivanDiscovery", "DivanHTTP", "DivanJSON", "DivanListener",
                "DivanModel", "DivanPeers", "DivanReplication",
            ],
            path: "Tests/Fuzz/Targets"
        ),
        .executableTarget(
            name: "DivanFuzz", dependencies: ["CFuzzer", "DivanFuzzTargets"],
            path: "Tests/Fuzz/Program"
        ),
        .testTarget(
            name: "DivanFuzzTests", dependencies: ["DivanFuzzTargets", "DivanTestSupport"]
        ),

        .testTarget(
            name: "DivanJSONTests",
            dependencies: ["DivanJSON", "DivanPlatform", "DivanTestSupport"]
        ),
        .testTarget(
            name: "DivanSystemTests", dependencies: ["DivanSystem", "DivanTestSupport"]
        ),
        .testTarget(name: "DivanLoggingTests", dependencies: ["DivanLogging"]),
        .testTarget(
            name: "DivanModelTests",
            dependencies: ["DivanModel", "DivanJSON", "DivanPlatform", "DivanTestSupport"]
        ),
        .testTarget(
            name: "DivanPlatformTests",
            dependencies: ["DivanPlatform", "DivanJSON", "DivanTestSupport"]
        ),
        .testTarget(
            name: "DivanHTTPTests", dependencies: ["DivanHTTP", "DivanJSON", "DivanTestSupport"]
        ),
        .testTarget(
            name: "DivanDiscoveryTests",
            dependencies: ["DivanDiscovery", "DivanTestSupport", "DivanTestChild"],
            exclude: ["Interop/relay.py", "Interop/zeroconf_party.py"]
        ),
        .testTarget(
            name: "DivanPeersTests",
            dependencies: [
                "Divan", "DivanDiscovery", "DivanHTTP", "DivanListener", "DivanPeers",
                "DivanPlatform",
                "DivanTestSupport",
            ]
        ),
        .testTarget(
            name: "DivanJavaScriptTests",
            dependencies: [
                "Divan", "DivanDesign", "DivanJavaScript", "DivanJavaScriptWorker", "DivanJSON",
                "DivanSystem",
                "DivanTestSupport",
            ]
        ),
        .testTarget(
            name: "DivanStorageTests",
            dependencies: [
                "DivanStorage", "DivanStorageConformance", "DivanTestSupport", "CChecksum",
                "CReadAhead",
            ]
        ),
        .testTarget(
            name: "DivanSQLiteTests",
            dependencies: [
                "DivanPlatform", "DivanStorage", "DivanSQLite", "DivanStorageConformance",
                "DivanSystem", "CFaultVFS", "DivanTestSupport",
            ]
        ),
        .testTarget(
            name: "DivanLMDBTests",
            dependencies: [
                "DivanStorage", "DivanSystem", "DivanLMDB", "DivanStorageConformance",
                "DivanTestSupport",
            ]
        ),
        .testTarget(
            name: "DivanIndexTests",
            dependencies: [
                "DivanIndex", "DivanJSON", "DivanModel", "DivanPlatform", "DivanStorage",
                "DivanSQLite", "DivanTestSupport",
            ]
        ),
        .testTarget(
            name: "DivanDatabaseTests",
            dependencies: [
                "Divan", "DivanDatabase", "DivanQuery", "DivanMaintenance", "DivanHTTP",
                "DivanLogging", "DivanPlatform", "DivanStorage",
                "DivanSQLite", "DivanLMDB", "DivanSystem",
                "DivanStorageConformance", "DivanTestSupport", "DivanTestChild",
            ]
        ),
        .testTarget(
            name: "DivanReplicationTests",
            dependencies: ["DivanReplication", "DivanHTTP", "Divan", "DivanTestSupport"]
        ),
        .testTarget(
            name: "SeedSamples",
            dependencies: ["Divan", "DivanLMDB", "DivanListener"],
            exclude: ["README.md"]
        ),
        .testTarget(
            name: "DivanListenerTests",
            dependencies: [
                "DivanListener", "Divan", "DivanDatabase", "DivanDesign", "DivanQuery", "DivanHTTP",
                "DivanJavaScript", "DivanJavaScriptWorker", "DivanLogging", "DivanSystem",
                "DivanTestSupport", "DivanInterop",
            ]
        ),
        .testTarget(
            name: "DivanCommandTests",
            dependencies: [
                "DivanCommand", "DivanJavaScript", "DivanGettingStarted", "DivanListener", "Divan",
                "DivanHTTP", "DivanSystem", "DivanTestSupport", "DivanTestChild",
            ]
        ),
        .testTarget(
            name: "DivanExampleTests",
            dependencies: ["Divan", "DivanTodoLite", "DivanPhotoDrop", "DivanTestSupport"]
        ),
    ]
)

// One set of settings for all targets. Only Sources are held to strict memory safety: a test may
// look at memory as it likes.
let lenient = [
    "DivanTestSupport", "DivanTestChild", "DivanStorageConformance", "DivanDemo",
    "DivanGettingStarted", "DivanTodoLite", "DivanPhotoDrop", "DivanInterop", "DivanFuzzTargets",
    "DivanFuzz",
]
// What scripts/package makes is optimised for size where that costs nothing: queries took a quarter more, and the
// storage below them was not tried. An app that depends on the package never sees these flags.
let packaged = Context.environment["DIVAN_COMMIT"] != nil
let small: Set = [
    "DivanCommand", "DivanConsole", "DivanDesign", "DivanDiscovery", "DivanHTTP",
    "DivanJavaScript", "DivanListener", "DivanMaintenance", "DivanPeers", "DivanReplication",
]
for target in package.targets {
    var settings: [SwiftSetting] = [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
    ]
    if target.type != .test && !lenient.contains(target.name) {
        settings += [
            .strictMemorySafety(), .treatWarning("StrictMemorySafety", as: .error),
        ]
    }
    if packaged && small.contains(target.name) { settings.append(.unsafeFlags(["-Osize"])) }
    target.swiftSettings = settings
}
