import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// A check that cannot fail is no check. For each there is a transport that breaks its rule.
@Suite(.inTurn) struct ConformanceFaultTests {
    @Test("a faulty transport fails each check that is meant for its fault", arguments: ConformanceFault.all)
    func fault(_ fault: ConformanceFault) async {
        let report = await TransportConformance.run({ fault.make() }, checks: fault.checks, within: fault.watchdog)
        #expect(Set(report.failures.map(\.id)) == fault.fails, "\(report)")
    }

    @Test("each check is failed by one of the faulty transports") func coverage() {
        let failed = ConformanceFault.all.reduce(into: Set<TransportConformance.ID>()) { $0.formUnion($1.fails) }
        // The checks of TLS share their code with those without. The catalog has the tests below.
        let others = TransportConformance.checks.filter { !failed.contains($0.id) && !$0.needsAuthority && $0.group != .misbehavior }
        #expect(others.isEmpty)
    }

    // MARK: the catalog

    /// Runs the checks of misbehaviors, and expects each to fail.
    private func expectFailures(
        _ fault: ConformanceFault, where isMeant: (Misbehavior) -> Bool, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let names = Set(Misbehavior.all.filter { isMeant($0) && Self.canRun($0) }.map(\.name))
        let checks = TransportConformance.checks(in: .misbehavior).filter {
            names.contains(String($0.id.rawValue.dropFirst("misbehavior.".count)))
        }
        #expect(!checks.isEmpty && checks.count == names.count, sourceLocation: sourceLocation)
        let report = await TransportConformance.run({ fault.make() }, checks: checks)
        #expect(report.passed == [], sourceLocation: sourceLocation)
    }

    /// Returns false for a misbehavior that ends the process of the transport below the faulty one.
    private static func canRun(_ misbehavior: Misbehavior) -> Bool {
        !misbehavior.onlyOutOfProcess || !(ConformanceFault.makeWire() is URLSessionTransport)
    }

    @Test("a transport that takes errors for responses fails for every misbehavior that is an error") func errorsAsResponses() async {
        await expectFailures(.errors("", fails: []) { error, _ in error is TransportError ? nil : error }) { misbehavior in
            switch misbehavior.expectation {
            // The pipeline refuses a Content-Length that is wrong, and a body that is shorter than its Content-Length.
            case .connectionLost, .malformedResponse, .anyFailure:
                !misbehavior.name.hasPrefix("redirect") && !misbehavior.name.hasPrefix("length")
            case .truncated: misbehavior.name.hasPrefix("chunk")
            default: false
            }
        }
    }

    @Test("a transport that changes bodies fails for every misbehavior that has one") func changedBodies() async {
        let fault = ConformanceFault.events("", fails: []) { _, event in
            if case .body(let data) = event { [.body(data + [33])] } else { [event] }
        }
        await expectFailures(fault) { if case .success(_, let body) = $0.expectation { !body.isEmpty } else { false } }
    }

    @Test("a transport with other types of errors fails for every misbehavior that never ends or never responds") func errorTypes() async {
        await expectFailures(.errors("", fails: []) { _, _ in CocoaError(.featureUnsupported) }) {
            $0.expectation == .tooLarge || ($0.expectation == .timesOut && $0.requestCount == 1)
        }
    }

    @Test("a transport that invents a response fails for every misbehavior") func invented() async {
        let fault = ConformanceFault("", fails: []) { wire, request, receive in
            try await receive(.head(statusCode: 202, headers: [:]))
            try await receive(.body(Data("invented".utf8)))
            _ = try? await wire.send(request) { _ in throw CancellationError() }
        }
        await expectFailures(fault) { $0.requestCount == 1 && $0.expectation != .timesOut && !$0.name.hasPrefix("endless") }
    }
}
