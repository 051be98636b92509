// swift-tools-version: 6.0
import Foundation
import PackageDescription

// SwiftPM identifies a package by path by the name of its folder, which may differ in this clone.
let root = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent()
let ness = root.lastPathComponent

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(path: root.path),
        // The cache tests' storage in Redis.
        .package(path: root.appendingPathComponent("Examples/SharedCache").path),
        // The peers. Ness itself needs no package.
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.33.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.26.0"),
    ],
    targets: [
        // A transport on another library, as an example.
        .target(
            name: "AsyncHTTPClientTransport",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NessHTTP", package: ness),
            ]),
        .executableTarget(
            name: "cache-tests",
            dependencies: [.product(name: "NessHTTP", package: ness), .product(name: "RedisStorage", package: "SharedCache")]),
        .executableTarget(
            name: "coalescing",
            dependencies: ["Measure", "Upstream", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness)]),
        .executableTarget(
            name: "conformance",
            dependencies: [
                "AsyncHTTPClientTransport", .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NessTesting", package: ness),
            ]),
        .executableTarget(name: "crawler", dependencies: ["Measure", "Upstream", .product(name: "NessHTTP", package: ness)]),
        .executableTarget(
            name: "crowds",
            dependencies: [
                "Measure", "Upstream", .product(name: "NessHTTP", package: ness),
                .product(name: "AsyncHTTPClient", package: "async-http-client"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .executableTarget(
            name: "gateway",
            dependencies: [
                "AsyncHTTPClientTransport", "Measure", "Upstream", .product(name: "NessHTTP", package: ness),
                .product(name: "AsyncHTTPClient", package: "async-http-client"), .product(name: "Hummingbird", package: "hummingbird"),
            ]),
        .executableTarget(
            name: "growth",
            dependencies: [
                "Measure", "Upstream", .product(name: "NessHTTP", package: ness), .product(name: "NessPromise", package: ness),
                .product(name: "NessTesting", package: ness),
            ]),
        .executableTarget(
            name: "http2",
            dependencies: [
                "Measure", "Upstream", .product(name: "NessHTTP", package: ness),
                .product(name: "AsyncHTTPClient", package: "async-http-client"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .executableTarget(
            name: "pipeline",
            dependencies: [
                "Allocations", "Measure", "Upstream", .product(name: "NessHTTP", package: ness),
                .product(name: "NessTesting", package: ness),
            ]),
        .executableTarget(
            name: "posts",
            dependencies: [
                "CurlInC", "Measure", "Upstream", .product(name: "NessHTTP", package: ness),
                .product(name: "AsyncHTTPClient", package: "async-http-client"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .executableTarget(
            name: "promise-chain",
            dependencies: [
                "Measure", .product(name: "NessPromise", package: ness), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "OpenCombine", package: "OpenCombine"),
            ]),
        .executableTarget(
            name: "request-overhead",
            dependencies: [
                "AsyncHTTPClientTransport", "CurlInC", "Measure", "Upstream", .product(name: "NessHTTP", package: ness),
                .product(name: "NessTesting", package: ness), .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ]),
        // The page and the charts of what the other programs measured.
        .executableTarget(name: "results", dependencies: ["Measure", .product(name: "NessHTTP", package: ness)]),
        .executableTarget(
            name: "retry-storm",
            dependencies: ["Measure", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness)]),
        .executableTarget(
            name: "soak",
            dependencies: ["Upstream", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness)]),
        .executableTarget(
            name: "tails",
            dependencies: [
                "Measure", "Upstream", .product(name: "NessHTTP", package: ness),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ]),
        .executableTarget(
            name: "transfer",
            dependencies: [
                "Measure", "Upstream", .product(name: "NessHTTP", package: ness), .product(name: "NessTesting", package: ness),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ]),
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
