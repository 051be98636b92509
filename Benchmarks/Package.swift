// swift-tools-version: 6.0
import Foundation
import PackageDescription

// A package by path is known by its folder's name, whatever that is in this clone.
let root = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent()
let ness = root.lastPathComponent

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    products: [.library(name: "Upstream", targets: ["Measure", "Upstream"])],
    dependencies: [.package(path: root.path)],
    targets: [
        .executableTarget(name: "cache-tests", dependencies: [.product(name: "NessHTTP", package: ness)]),
        .executableTarget(
            name: "coalescing",
            dependencies: ["Measure", "Upstream", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness)]),
        .executableTarget(
            name: "pipeline",
            dependencies: [
                "Allocations", "Measure", "Upstream", .product(name: "NessHTTP", package: ness),
                .product(name: "NessTesting", package: ness),
            ]),
        .executableTarget(
            name: "promise-chain", dependencies: ["Measure", .product(name: "NessPromise", package: ness)]),
        .executableTarget(
            name: "request-overhead",
            dependencies: [
                "CurlInC", "Measure", "Upstream", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness),
            ]),
        // The table and the charts of what the other programs measured.
        .executableTarget(name: "results", dependencies: ["Measure", .product(name: "NessHTTP", package: ness)]),
        .executableTarget(
            name: "retry-storm",
            dependencies: ["Measure", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness)]),
        .executableTarget(
            name: "soak",
            dependencies: ["Upstream", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness)]),
        .executableTarget(
            name: "transfer",
            dependencies: ["Measure", "Upstream", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness)]),
        .executableTarget(
            name: "waiting",
            dependencies: ["Measure", "Upstream", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness)]),
        .target(name: "Measure"),
        // A counter of allocations.
        .target(name: "Allocations"),
        // The yardstick for CurlTransport.
        .target(name: "CurlInC"),
        // The server of the benchmarks, and the choice of the transport.
        .target(
            name: "Upstream", dependencies: [.product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness)]),
    ],
    swiftLanguageModes: [.v6]
)
