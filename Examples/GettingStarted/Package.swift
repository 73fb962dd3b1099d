// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own that depends on Divan by its path, exactly as a user's would.
let package = Package(
    name: "GettingStarted",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Divan", path: "../..")],
    targets: [
        .executableTarget(
            name: "GettingStarted",
            dependencies: [.product(name: "Divan", package: "Divan")]
        )
    ]
)
