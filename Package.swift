// swift-tools-version: 6.0
import PackageDescription

// Only the App Store reads the privacy manifest. On Linux, a resource would add a folder to every product.
#if os(Linux)
let excluded = ["PrivacyInfo.xcprivacy"]
let resources: [Resource] = []
#else
let excluded: [String] = []
let resources: [Resource] = [.process("PrivacyInfo.xcprivacy")]
#endif

func testsOfNessHTTP(_ name: String, excluding excluded: [String] = []) -> Target {
    .testTarget(name: name, dependencies: ["NessHTTP", "NessLock", "NessTesting", "TestSupport"], exclude: excluded)
}

let package = Package(
    name: "Ness",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "NessPromise", targets: ["NessPromise"]),
        .library(name: "NessHTTP", targets: ["NessHTTP"]),
        .library(name: "NessTesting", targets: ["NessTesting"]),
        .library(name: "NessInspector", targets: ["NessInspector"]),
        .executable(name: "ness-demo", targets: ["ness-demo"]),
    ],
    targets: [
        .target(name: "NessLock"),
        .target(name: "NessPromise", dependencies: ["NessLock"]),
        // libcurl without its headers, for Linux: looked up at run time, so that nothing has to be installed.
        .target(name: "CNessCurl"),
        .target(
            name: "NessHTTP",
            dependencies: ["NessLock", "NessPromise", .target(name: "CNessCurl", condition: .when(platforms: [.linux]))],
            exclude: excluded, resources: resources),
        .target(name: "NessTesting", dependencies: ["NessHTTP", "NessLock"]),
        .target(name: "NessInspector", dependencies: ["NessHTTP", "NessLock", "NessTesting"]),
        .executableTarget(name: "ness-demo", dependencies: ["NessHTTP", "NessLock", "NessTesting", "NessInspector"]),
        // No product: it is for the tests only.
        .target(name: "TestSupport", dependencies: ["NessHTTP", "NessLock", "NessTesting"], path: "Tests/TestSupport"),
        .testTarget(name: "NessPromiseTests", dependencies: ["NessLock", "NessPromise", "TestSupport"]),
        .testTarget(name: "Swift5Tests", dependencies: ["NessPromise"], swiftSettings: [.swiftLanguageMode(.v5)]),
        // The tests of NessHTTP, in several targets, so that a changed test builds in seconds.
        testsOfNessHTTP("MessageTests"),
        testsOfNessHTTP("TransportTests", excluding: ["Programs"]),
        testsOfNessHTTP("FeatureTests"),
        testsOfNessHTTP("NessHTTPTests"),
        .testTarget(name: "NessTestingTests", dependencies: ["NessLock", "NessTesting", "TestSupport"]),
        .testTarget(name: "NessInspectorTests", dependencies: ["NessInspector", "NessTesting", "TestSupport"]),
        // Rows against real servers, which are children of the tests: see CONTRIBUTING.md.
        .testTarget(name: "InteropTests", dependencies: ["NessHTTP", "NessLock", "NessTesting", "TestSupport"], exclude: ["Programs"]),
    ],
    swiftLanguageModes: [.v6]
)

// `.ci/run` leaves out the tests that it does not run under the thread sanitizer: compiling them takes minutes.
let leftOut = (Context.environment["NESS_LEFT_OUT"] ?? "").split(separator: ",").map(String.init)
package.targets.removeAll { leftOut.contains($0.name) }
