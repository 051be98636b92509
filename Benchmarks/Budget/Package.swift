// swift-tools-version: 6.0
import PackageDescription

// The budget of allocations and tasks. A separate package, so that CI does not have to resolve the libraries that the benchmarks compare.
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
