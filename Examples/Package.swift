// swift-tools-version: 6.0
import Foundation
import PackageDescription

// SwiftPM identifies a package by path by the name of its folder, which may differ in this clone.
let root = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent()
let http = Target.Dependency.product(name: "NessHTTP", package: root.lastPathComponent)
let testing = Target.Dependency.product(name: "NessTesting", package: root.lastPathComponent)

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [.package(path: root.path)],
    targets: [
        .executableTarget(name: "chat", dependencies: [http]),
        .executableTarget(name: "mirror", dependencies: [http]),
        .target(name: "TasksClient", dependencies: [http]),
        .executableTarget(name: "tasks", dependencies: ["TasksClient", http]),
        .testTarget(name: "TasksClientTests", dependencies: ["TasksClient", testing]),
        // Starts each program as a process, against a separate server.
        .testTarget(name: "ProgramTests", dependencies: ["chat", "mirror", "tasks", testing]),
    ],
    swiftLanguageModes: [.v6]
)
