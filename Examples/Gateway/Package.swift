// swift-tools-version: 6.0
import Foundation
import PackageDescription

// SwiftPM identifies a package by path by the name of its folder, which may differ in this clone.
let root = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent().deletingLastPathComponent()
let http = Target.Dependency.product(name: "NessHTTP", package: root.lastPathComponent)
let testing = Target.Dependency.product(name: "NessTesting", package: root.lastPathComponent)
let ness = ["NessHTTPTypes", "NessLogging", "NessMetrics", "NessServiceLifecycle", "NessTracing"].map {
    Target.Dependency.product(name: $0, package: "Integrations")
}
let server = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let fields = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let tracesInMemory = Target.Dependency.product(name: "InMemoryTracing", package: "swift-distributed-tracing")
let nio = ["NIOCore", "NIOPosix"].map { Target.Dependency.product(name: $0, package: "swift-nio") }

let package = Package(
    name: "Gateway",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(path: root.path),
        .package(path: root.appendingPathComponent("Integrations").path),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
        // Parts of Hummingbird and of the integrations, whose types the programs name.
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ],
    targets: [
        // Receivers of metrics and spans, as small as they can be.
        .target(name: "Telemetry", dependencies: [logging, metrics, tracing]),
        .target(name: "ReverseProxy", dependencies: [http, server, fields, lifecycle, logging, metrics, tracing] + ness + nio),
        .executableTarget(
            name: "gateway", dependencies: ["ReverseProxy", "Telemetry", http, server, lifecycle, logging, metrics, tracing]),
        .executableTarget(name: "logging", dependencies: ["Telemetry", http, logging, metrics, tracing] + ness),
        // Runs the proxy on loopback, between a client and a test server.
        .testTarget(
            name: "ReverseProxyTests",
            dependencies: ["ReverseProxy", "Telemetry", http, testing, lifecycle, logging, metrics, tracing, tracesInMemory] + nio),
        .testTarget(name: "TelemetryTests", dependencies: ["Telemetry", logging, metrics, tracing]),
        // Starts each program as a process, against a separate server.
        .testTarget(name: "ProgramTests", dependencies: ["gateway", "logging", http, testing]),
    ],
    swiftLanguageModes: [.v6]
)
