// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Ness",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "NessPromise", targets: ["NessPromise"]),
        .library(name: "NessHTTP", targets: ["NessHTTP"]),
        .library(name: "NessTesting", targets: ["NessTesting"]),
        .executable(name: "ness-demo", targets: ["ness-demo"]),
    ],
    targets: [
        .target(name: "NessPromise"),
        .target(name: "NessHTTP", dependencies: ["NessPromise"]),
        .target(name: "NessTesting", dependencies: ["NessHTTP"]),
        .executableTarget(name: "ness-demo", dependencies: ["NessHTTP", "NessTesting"]),
        .testTarget(name: "NessPromiseTests", dependencies: ["NessPromise"]),
        .testTarget(name: "NessHTTPTests", dependencies: ["NessHTTP", "NessTesting"]),
        .testTarget(name: "NessTestingTests", dependencies: ["NessTesting"]),
        .testTarget(name: "MigrationTests", dependencies: ["NessHTTP", "NessTesting"]),
    ],
    swiftLanguageModes: [.v6]
)
