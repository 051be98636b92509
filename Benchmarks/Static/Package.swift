// swift-tools-version: 6.0
import PackageDescription

// A gateway on AsyncHTTPClient, beside which `run` measures the one in `Examples/Gateway`.
let package = Package(
    name: "Static",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
    ],
    targets: [
        .executableTarget(
            name: "ahc-gateway",
            dependencies: [
                .product(name: "HummingbirdCore", package: "hummingbird"), .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
