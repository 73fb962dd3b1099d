// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, so that nothing here reaches an app that depends on Divan.
let package = Package(
    name: "DivanBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Divan", path: "..")],
    targets: [
        // The same work in C on bare SQLite and LMDB: what is left when Divan's part is taken away.
        .executableTarget(
            name: "Floor",
            path: "Floor",
            cSettings: [.unsafeFlags(["-O2"])],
            linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("lmdb")]
        ),
        // The documents, their IDs and the file that all runners map into memory.
        .target(name: "BenchmarkInput", path: "BenchmarkInput"),
        // The same work through Divan's public API.
        .executableTarget(
            name: "DivanRunner",
            dependencies: [
                "BenchmarkInput", .product(name: "Divan", package: "Divan"),
                .product(name: "DivanListener", package: "Divan"),
                .product(name: "DivanLMDB", package: "Divan"),
                .product(name: "DivanJavaScript", package: "Divan"),
            ],
            path: "DivanRunner"
        ),
        // Starts one process for each run, interleaved, and makes the table.
        .executableTarget(
            name: "DivanBenchmarks",
            dependencies: ["BenchmarkInput"],
            path: "DivanBenchmarks"
        ),
    ],
    swiftLanguageModes: [.v6]
)
