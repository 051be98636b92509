// swift-tools-version: 6.0
import Foundation
import PackageDescription

// What observing a request costs. A separate package, because it depends on the integrations and on nothing else.
let root = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent().deletingLastPathComponent()

let package = Package(
    name: "Observed",
    platforms: [.macOS(.v15)],
    dependencies: [.package(path: root.path), .package(path: root.appendingPathComponent("Integrations").path)],
    targets: [
        .executableTarget(
            name: "observed",
            dependencies: [
                .product(name: "NessHTTP", package: root.lastPathComponent),
                .product(name: "NessInspector", package: root.lastPathComponent),
                .product(name: "NessLogging", package: "Integrations"), .product(name: "NessMetrics", package: "Integrations"),
                .product(name: "NessTracing", package: "Integrations"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
