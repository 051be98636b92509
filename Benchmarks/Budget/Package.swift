// swift-tools-version: 6.0
import PackageDescription

// The budget of allocations and tasks, in a package of its own: it needs none of the peers that the benchmarks resolve.
let package = Package(
    name: "Budget",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Ness", path: "../..")],
    targets: [
        .target(name: "Allocations"),
        .executableTarget(
            name: "budget",
            dependencies: [
                "Allocations", .product(name: "NessHTTP", package: "Ness"), .product(name: "NessTesting", package: "Ness"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
