// swift-tools-version: 6.0
import PackageDescription

// A separate package, over links to the library's sources: the fuzzer needs compiler flags that a package which others depend on
// must not have, and the readers it feeds are not public.
let fuzzing: [SwiftSetting] = [.unsafeFlags(["-sanitize=fuzzer"])]

let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v13)],
    targets: [
        .target(name: "NessLock", swiftSettings: fuzzing),
        .target(name: "NessPromise", dependencies: ["NessLock"], swiftSettings: fuzzing),
        .target(name: "CNessCurl"),
        .target(
            name: "NessHTTP",
            dependencies: ["NessLock", "NessPromise", .target(name: "CNessCurl", condition: .when(platforms: [.linux]))],
            swiftSettings: fuzzing),
        .target(name: "NessTesting", dependencies: ["NessHTTP", "NessLock"], swiftSettings: fuzzing),
        .executableTarget(
            name: "ness-fuzz", dependencies: ["NessHTTP", "NessLock", "NessTesting"],
            swiftSettings: fuzzing + [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]),
    ],
    swiftLanguageModes: [.v6]
)
