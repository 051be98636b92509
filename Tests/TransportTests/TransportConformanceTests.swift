import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The transports of this library keep the contract of `Transport`.
@Suite(.inTurn) struct TransportConformanceTests {
    #if os(Linux)
    @Test("CurlTransport keeps every rule", .enabled(if: CurlTransport.libraryVersion != nil), arguments: KnownLimits.checks)
    func curl(_ check: TransportConformance.Check) async {
        let report = await TransportConformance.run(
            { try CurlTransport() }, checks: [check], except: KnownLimits.ofCurl, within: .seconds(600))
        #expect(report.isPassed, "\(report)")
    }

    @Test("URLSession keeps every rule except its known limits", .enabled(if: Engine.isURLSessionOnLinux), arguments: KnownLimits.checks)
    func urlSession(_ check: TransportConformance.Check) async {
        let report = await TransportConformance.run(
            { URLSessionTransport() }, checks: [check], except: KnownLimits.ofURLSession, within: .seconds(600))
        #expect(report.isPassed, "\(report)")
    }
    #else
    @Test(
        "URLSession keeps every rule except its known limits, in both loading modes", arguments: KnownLimits.checks,
        LoadingMode.available)
    func urlSession(_ check: TransportConformance.Check, _ mode: LoadingMode) async {
        let report = await TransportConformance.run(
            { mode.makeTransport() }, checks: [check], except: KnownLimits.ofURLSession, within: .seconds(600))
        #expect(report.isPassed, "\(report)")
    }
    #endif
}

#if !os(Linux)
/// The two implementations of URLSession on Apple platforms.
enum LoadingMode: CaseIterable, Sendable {
    case classic, new

    /// The modes that the system can choose from. An older one has the classic mode only.
    static var available: [LoadingMode] {
        if #available(macOS 15.4, iOS 18.4, tvOS 18.4, watchOS 11.4, visionOS 2.4, *) { return allCases }
        return [.classic]
    }

    func makeTransport() -> URLSessionTransport {
        URLSessionTransport(configure: { configuration in
            if #available(macOS 15.4, iOS 18.4, tvOS 18.4, watchOS 11.4, visionOS 2.4, *) {
                configuration.usesClassicLoadingMode = self == .classic
            }
        })
    }
}
#endif

#if os(Linux)
/// The same over TLS, in a process that trusts the test's authority.
@Suite(.inTurn, .inOwnProcess) struct SecureTransportConformanceTests {
    @Test("CurlTransport keeps every rule over TLS", .enabled(if: CurlTransport.libraryVersion != nil)) func curl() async throws {
        let report = await TransportConformance.run(
            { try CurlTransport() }, checks: KnownLimits.secureChecks, authority: try OwnProcess.authority.get(),
            except: KnownLimits.ofCurl)
        #expect(report.isPassed && report.skipped.isEmpty, "\(report)")
    }

    @Test("URLSession keeps every rule over TLS except its known limits", .enabled(if: Engine.isURLSessionOnLinux))
    func urlSession() async throws {
        let report = await TransportConformance.run(
            { URLSessionTransport() }, checks: KnownLimits.secureChecks, authority: try OwnProcess.authority.get(),
            except: KnownLimits.ofURLSession)
        #expect(report.isPassed && report.skipped.isEmpty, "\(report)")
    }
}
#endif

private enum KnownLimits {
    static let checks = TransportConformance.checks.filter { !$0.needsAuthority }
    static let secureChecks = TransportConformance.checks.filter(\.needsAuthority)

    #if os(Linux)
    static let ofCurl: [TransportConformance.ID: TransportConformance.KnownLimit] = {
        if CurlLibrary.shared?.keepsConnections == true { return [:] }
        let limit: TransportConformance.KnownLimit = "before 7.80 each request opens a connection"
        return ["load.reuse": limit, "secure.reuse": limit]
    }()

    /// The limits of URLSession on Linux. KnownLimitations.md names those that a user can notice.
    static let ofURLSession: [TransportConformance.ID: TransportConformance.KnownLimit] = {
        var limits: [TransportConformance.ID: TransportConformance.KnownLimit] = [
            "contract.order-of-fields": "it keeps fields in a dictionary",
            "contract.order-of-response-fields": "it keeps fields in a dictionary",
            "contract.redirect-without-location": "it loses the body of a redirect without a Location",
            "framing.truncated-coding": "it does not notice that a compressed body is truncated",
            "framing.truncated-in-head": .notRun("it ends the process"),
            "framing.trailers": .notRun("it ends the process"),
            "misbehavior.unasked-second-response": .sometimes("it takes what came on an idle connection for the next answer"),
            "misbehavior.unasked-408": .sometimes("it takes what came on an idle connection for the next answer"),
            "resends.late-unasked-answer": "it takes what came on an idle connection for the next answer",
            "resends.late-unasked-answer-secure": "it takes what came on an idle connection for the next answer",
            "resends.unasked-408": "it takes what came on an idle connection for the next answer; the pipeline retries after a 408",
            "resends.twice-of-many": "libcurl repeats a request for each idle connection that has died",
            "receive.back-pressure": .sometimes("it cannot pause a connection"),
            "bodies.file-length": "it sends a stream in chunks",
            "shutdown.in-flight": .notRun("it waits for the exchanges in flight, which the pipeline has ended"),
        ]
        for name in ["gzip-cut", "gzip-cut-chunked", "gzip-cut-no-length", "gzip-cut-in-header", "gzip-cut-in-trailer"] {
            limits[TransportConformance.ID(rawValue: "misbehavior.\(name)")] = "it does not notice that a compressed body is truncated"
        }
        for misbehavior in Misbehavior.all where misbehavior.onlyOutOfProcess {
            limits[TransportConformance.ID(rawValue: "misbehavior.\(misbehavior.name)")] = .notRun("it ends the process, or hangs")
        }
        return limits
    }()
    #else
    /// The limits of URLSession on Apple platforms, from its documentation: no Mac has run the checks yet.
    static let ofURLSession: [TransportConformance.ID: TransportConformance.KnownLimit] = {
        var limits: [TransportConformance.ID: TransportConformance.KnownLimit] = [
            "contract.order-of-fields": .sometimes("it keeps fields in a dictionary"),
            "contract.order-of-response-fields": .sometimes("it keeps fields in a dictionary"),
            "resends.twice-of-many": .sometimes("it repeats an idempotent request when an idle connection has died"),
            "contract.fields": .sometimes("to be decided: empty fields, and text that is not ASCII"),
            "contract.response-fields": .sometimes("to be decided: empty fields"),
            "contract.large-head": .sometimes("to be decided: the longest header"),
            "framing.truncated-by-length": .sometimes("to be decided: the head of a short body without a Content-Type"),
            "framing.truncated-by-chunks": .sometimes("to be decided: the head of a short body without a Content-Type"),
            "framing.truncated-coding": .sometimes("to be decided: whether it notices that a compressed body is truncated"),
        ]
        for name in HostileTests.limits {
            limits[TransportConformance.ID(rawValue: "misbehavior.\(name)")] = .sometimes("to be decided: see `HostileTests.limits`")
        }
        // Their servers have certificates.
        if (try? TestAuthority()) == nil {
            for id in ["errors.tls-untrusted", "errors.tls-wrong-host", "errors.tls-expired"] as [TransportConformance.ID] {
                limits[id] = .notRun("TestServer finds no OpenSSL 3: see `TestAuthority`")
            }
        }
        return limits
    }()
    #endif
}
