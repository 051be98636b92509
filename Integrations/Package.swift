// swift-tools-version: 6.0
import Foundation
import PackageDescription

// SwiftPM identifies a package by path by the name of its folder, which may differ in this clone.
let root = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent()
let http = Target.Dependency.product(name: "NessHTTP", package: root.lastPathComponent)
let testing = Target.Dependency.product(name: "NessTesting", package: root.lastPathComponent)
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let types = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

let package = Package(
    name: "Integrations",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: ["NessLogging", "NessMetrics", "NessTracing", "NessHTTPTypes", "NessServiceLifecycle"].map {
        .library(name: $0, targets: [$0])
    },
    dependencies: [
        .package(path: root.path),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.3.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    ],
    targets: [
        // Names and values that logs, metrics and traces have in common.
        .target(name: "NessConventions", dependencies: [http]),
        .target(name: "NessLogging", dependencies: ["NessConventions", http, logging]),
        .target(name: "NessMetrics", dependencies: ["NessConventions", http, metrics]),
        .target(name: "NessTracing", dependencies: ["NessConventions", http, tracing]),
        .target(name: "NessHTTPTypes", dependencies: [http, types]),
        .target(name: "NessServiceLifecycle", dependencies: [http, lifecycle]),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "NessLogging", "NessMetrics", "NessTracing", "NessHTTPTypes", "NessServiceLifecycle", testing,
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
