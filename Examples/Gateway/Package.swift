// swift-tools-version: 6.0
import Foundation
import PackageDescription

// SwiftPM identifies a package by path by the name of its folder, which may differ in this clone.
let root = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent().deletingLastPathComponent()
let http = Target.Dependency.product(name: "NessHTTP", package: root.lastPathComponent)
let testing = Target.Dependency.product(name: "NessTesting", package: root.lastPathComponent)
let server = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let fields = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nio = ["NIOCore", "NIOPosix"].map { Target.Dependency.product(name: $0, package: "swift-nio") }

let package = Package(
    name: "Gateway",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(path: root.path),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
        // Parts of Hummingbird, whose types the proxy names.
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ],
    targets: [
        .target(name: "ReverseProxy", dependencies: [http, server, fields, logging] + nio),
        .executableTarget(name: "gateway", dependencies: ["ReverseProxy", http, server, lifecycle, logging]),
        // Runs the proxy on loopback, between a client and a test server.
        .testTarget(name: "ReverseProxyTests", dependencies: ["ReverseProxy", "gateway", http, testing, server, logging] + nio),
    ],
    swiftLanguageModes: [.v6]
)
