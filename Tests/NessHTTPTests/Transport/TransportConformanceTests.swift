#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The transports of this library keep the contract of `Transport`.
@Suite(.inTurn) struct TransportConformanceTests {
    @Test("CurlTransport keeps every rule", .enabled(if: CurlTransport.libraryVersion != nil), arguments: KnownLimits.checks)
    func curl(_ check: TransportConformance.Check) async {
        let report = await TransportConformance.run({ CurlTransport() }, checks: [check], within: .seconds(600))
        #expect(report.isPassed, "\(report)")
    }

    @Test("URLSession keeps every rule except its known limits", .enabled(if: Engine.isURLSessionOnLinux), arguments: KnownLimits.checks)
    func urlSession(_ check: TransportConformance.Check) async {
        let report = await TransportConformance.run(
            { URLSessionTransport() }, checks: [check], except: KnownLimits.ofURLSession, within: .seconds(600))
        #expect(report.isPassed, "\(report)")
    }
}

/// The same over TLS, in a process that trusts the test's authority.
@Suite(.inTurn, .inOwnProcess) struct SecureTransportConformanceTests {
    @Test("CurlTransport keeps every rule over TLS", .enabled(if: CurlTransport.libraryVersion != nil)) func curl() async throws {
        let report = await TransportConformance.run(
            { CurlTransport() }, checks: KnownLimits.secureChecks, authority: try OwnProcess.authority.get())
        #expect(report.isPassed && report.passed.count == KnownLimits.secureChecks.count, "\(report)")
    }

    @Test("URLSession keeps every rule over TLS except its known limits", .enabled(if: Engine.isURLSessionOnLinux))
    func urlSession() async throws {
        let report = await TransportConformance.run(
            { URLSessionTransport() }, checks: KnownLimits.secureChecks, authority: try OwnProcess.authority.get(),
            except: KnownLimits.ofURLSession)
        #expect(report.isPassed && report.skipped.isEmpty, "\(report)")
    }
}

private enum KnownLimits {
    static let checks = TransportConformance.checks.filter { !$0.needsAuthority }
    static let secureChecks = TransportConformance.checks.filter(\.needsAuthority)

    /// The limits of URLSession on Linux. Documentation/Limits.md names those that a user can notice.
    static let ofURLSession: [TransportConformance.ID: TransportConformance.KnownLimit] = {
        var limits: [TransportConformance.ID: TransportConformance.KnownLimit] = [
            "contract.order-of-fields": "it keeps fields in a dictionary",
            "contract.order-of-response-fields": "it keeps fields in a dictionary",
            "contract.redirect-without-location": "it loses the body of a redirect without a Location",
            "framing.truncated-coding": "it does not notice that a compressed body is truncated",
            "framing.truncated-in-head": .notRun("it ends the process"),
            "framing.trailers": .notRun("it ends the process"),
            "misbehaviour.unasked-second-response": .sometimes("it takes what came on an idle connection for the next answer"),
            "misbehaviour.unasked-408": .sometimes("it takes what came on an idle connection for the next answer"),
            "resends.late-unasked-answer": "it takes what came on an idle connection for the next answer",
            "resends.late-unasked-answer-secure": "it takes what came on an idle connection for the next answer",
            "resends.unasked-408": "it takes what came on an idle connection for the next answer; the pipeline retries after a 408",
            "resends.twice-of-many": "libcurl repeats a request for each idle connection that has died",
            "receive.back-pressure": .sometimes("it cannot pause a connection"),
            "bodies.file-length": "it sends a stream in chunks",
            "shutdown.in-flight": .notRun("it waits for the exchanges in flight, which the pipeline has ended"),
        ]
        for name in ["gzip-cut", "gzip-cut-chunked", "gzip-cut-no-length", "gzip-cut-in-header", "gzip-cut-in-trailer"] {
            limits[TransportConformance.ID(rawValue: "misbehaviour.\(name)")] = "it does not notice that a compressed body is truncated"
        }
        for misbehaviour in Misbehaviour.all where misbehaviour.onlyOutOfProcess {
            limits[TransportConformance.ID(rawValue: "misbehaviour.\(misbehaviour.name)")] = .notRun("it ends the process, or hangs")
        }
        return limits
    }()
}
#endif
