// swift-tools-version: 6.0
import Foundation
import PackageDescription

// SwiftPM identifies a package by path by the name of its folder, which may differ in this clone.
let root = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent().deletingLastPathComponent()
let http = Target.Dependency.product(name: "NessHTTP", package: root.lastPathComponent)
let testing = Target.Dependency.product(name: "NessTesting", package: root.lastPathComponent)
let nio = ["NIOCore", "NIOFoundationCompat", "NIOPosix"].map { Target.Dependency.product(name: $0, package: "swift-nio") }

let package = Package(
    name: "SharedCache",
    platforms: [.macOS(.v15)],
    products: [.library(name: "RedisStorage", targets: ["RedisStorage"])],
    dependencies: [
        .package(path: root.path),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
    ],
    targets: [
        .target(name: "RedisStorage", dependencies: [http] + nio),
        .executableTarget(name: "shared-cache", dependencies: ["RedisStorage", http]),
        // Starts a Redis server on a Unix socket, and the program in several processes.
        .testTarget(name: "SharedCacheTests", dependencies: ["RedisStorage", "shared-cache", http, testing] + nio),
    ],
    swiftLanguageModes: [.v6]
)
