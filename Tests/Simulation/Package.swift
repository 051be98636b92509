// swift-tools-version: 6.0
import PackageDescription

// A separate package, over links to the library's sources: its lock has switch points, and its scheduler replaces symbols of the system.
let package = Package(
    name: "Simulation",
    targets: [
        .target(name: "CSim"),
        .target(name: "NessLock", dependencies: ["CSim"]),
        .target(name: "NessPromise", dependencies: ["NessLock"]),
        .target(name: "CNessCurl"),
        .target(name: "NessHTTP", dependencies: ["NessLock", "NessPromise", "CNessCurl"], exclude: ["PrivacyInfo.xcprivacy"]),
        .executableTarget(
            name: "simulate", dependencies: ["CSim", "NessHTTP", "NessLock"],
            // The replaced symbols must be visible to the shared libraries of Swift's runtime.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"])]),
    ],
    swiftLanguageModes: [.v6]
)
