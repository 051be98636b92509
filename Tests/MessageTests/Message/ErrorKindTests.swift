import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// One vocabulary of errors, for the pipeline, loaders, observers and callers alike.
@Suite(.inTurn) struct ErrorKindTests {
    @Test("every kind is found by its name, and is a pattern for errors of any type", arguments: NessError.Kind.allCases)
    func kinds(kind: NessError.Kind) {
        let error: any Error = NessError(kind, NessError.Context(request: nil, reason: "why"))
        #expect(NessError.Kind(rawValue: "\(kind)") == kind)
        #expect(NessError.Kind.allCases.filter { $0 ~= error } == [kind])
        #expect(!(kind ~= CancellationError()))
        do { throw error } catch NessError.Kind.validation { #expect(kind == .validation) } catch { #expect(kind != .validation) }
    }

    @Test("a loader's own kind of error has its name in the description, and is not transient")
    func customKind() {
        let error = NessError(NessError.Kind(rawValue: "quota"), NessError.Context(request: nil, reason: "used up"))
        #expect(error.description == "request (not sent): quota: used up")
        #expect(!error.isTransient && error.mayHaveReachedServer && NessError.Kind.allCases.allSatisfy { $0 != error.kind })
    }

    @Test("an error tells if it is transient, and if the server may have acted")
    func judgement() {
        let transient = NessError.Kind.allCases.filter { NessError($0, NessError.Context(request: nil, reason: "")).isTransient }
        #expect(
            transient == [.offline, .cannotConnect, .timedOut, .connectionLost, .truncated, .malformedResponse, .circuitOpen])
        let unseen = NessError.Kind.allCases.filter { !NessError($0, NessError.Context(request: nil, reason: "")).mayHaveReachedServer }
        #expect(unseen == [.invalidRequest, .offline, .cannotConnect, .addressRejected, .tls, .circuitOpen, .notCached])
    }

    @Test("an error tells if its request may be sent again: never, if that is safe, or always because the server has not seen it")
    func repetition() {
        func kinds(_ known: Repetition?, followsAction: Bool = false, where isIncluded: (Repetition) -> Bool) -> [NessError.Kind] {
            var context = NessError.Context(request: nil, reason: "")
            (context.repetition, context.followsAction) = (known, followsAction)
            return NessError.Kind.allCases.filter { isIncluded(NessError($0, context).repetition) }
        }
        let never: [NessError.Kind] = [.invalidRequest, .addressRejected, .dropped, .tls, .decoding, .duplicate, .fileSystem, .notCached]
        #expect(kinds(nil) { $0.isRuledOut } == never)
        #expect(kinds(nil) { $0 == .always } == [.offline, .cannotConnect, .circuitOpen])
        // The knowledge of the code that made the error replaces the conclusion from the kind.
        #expect(kinds(.always) { $0.isRuledOut } == never && kinds(.always) { $0 == .ifSafe }.isEmpty)
        #expect(kinds(.ifSafe) { $0.isRuledOut } == never && kinds(.ifSafe) { $0 == .always }.isEmpty)
        #expect(kinds(.never("why")) { $0.isRuledOut } == NessError.Kind.allCases)
        #expect(kinds(.always, followsAction: true) { $0.isRuledOut } == never)
        #expect(kinds(.always, followsAction: true) { $0 == .always }.isEmpty)
    }

    @Test(
        "a loader at any place sees the library's error, never the transport's error", arguments: LoaderPlace.allCases,
        TransportError.Kind.allCases)
    func loaders(place: LoaderPlace, kind: TransportError.Kind) async throws {
        let seen = Log<NessError.Kind?>()
        let rig = Rig {
            $0.insert(
                .loader { request, next in
                    do {
                        return try await next(request)
                    } catch {
                        seen.add((error as? NessError)?.kind)
                        throw error
                    }
                }, at: place)
        }
        rig.mock.on(.get, "/x", replies: [.failure(TransportError(kind, "why"))])
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()
        #expect(seen.entries == [NessError.Kind(kind)])
        #expect(error?.kind == NessError.Kind(kind))
    }

    @Test("a loader's cancellation is a drop in error, status and text, and the text names no caller")
    func cancellation() async throws {
        let held = TestGate()
        let rig = Rig {
            $0.loaders = [
                .loader { request, _ in
                    if request.url.path == "/held" { await held.wait() }
                    throw CancellationError()
                }
            ]
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        let error = await promise.nessError()
        #expect(error?.kind == .dropped)
        #expect(promise.status.text == "dropped")
        #expect(error?.description.contains("by the caller") == false)
        let dropped = rig.ness.httpRequest(withUrl: "held").dataRequest()
        dropped.drop()
        held.open()
        #expect(await dropped.nessError()?.description.contains("by the caller") == true)
    }

    @Test("the error of a timeout holds the part of the response that had arrived", arguments: [true, false])
    func partOfTimeout(byDeadline: Bool) async throws {
        let clock = ManualClock(), arrived = ReceiveGates(gates: [4: TestGate()])
        let server = try await TestServer.start(script: { _ in
            [.receiveRequest, .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 10\r\nX-A: b\r\n\r\nhalf"), .stall]
        })
        let ness = Ness {
            $0.baseURL = server.url
            $0.clock = clock
            arrived.install(in: &$0)
        }
        let request = ness.httpRequest(withUrl: "x")
        let promise = (byDeadline ? request.set(deadline: .seconds(20)) : request.set(timeout: .seconds(20))).dataRequest()
        await arrived.gates[4]?.wait()
        await clock.waitForSleepers(byDeadline ? 2 : 1)
        clock.advance(by: .seconds(20))
        let error = await promise.nessError()
        #expect(error?.kind == .timedOut)
        #expect(error?.response?.statusCode == 200)
        #expect(error?.response?.headers["x-a"] == "b")
        #expect(error?.response?.text == "half")
        await server.stop()
    }

    @Test("an error with the code -999 from another domain is not a drop") func aForeignError() async throws {
        let foreign = NSError(domain: "foreign", code: -999)
        let control = AskedControl(CounterRetryControl(maxRetryCount: 1))
        let rig = Rig { $0.loaders = [.loader { _, _ in throw foreign }] }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(with: control)
        await #expect(throws: NSError.self) { _ = try await promise.value }
        #expect(promise.status.text == "error")
        #expect(control.asked.entries.count == 2)
    }
}
