import Foundation
import NessLock

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The events of a task, as its session reports them.
extension URLSessionExchange {
    func sent(_ total: Int64) {
        state.withLock { $0.progress.hasSent = true }
        report(.sent(total))
    }

    /// Reports the measurements of the connection. URLSession takes them before it reports the end.
    /// - Parameters:
    ///   - connection: The measurements; `nil` if there was no connection.
    ///   - hasBegun: True if URLSession started to send a request.
    func measured(_ connection: ConnectionMetrics?, hasBegun: Bool) {
        state.withLock { $0.progress.hasBegun = hasBegun }
        if let connection { report(.connection(connection)) }
    }

    #if canImport(Network)
    /// Stops the idle timer and frees the host's slot until there is a network. URLSession does not report the end of its wait, so a
    /// separate task watches the network.
    func waitForNetwork() {
        control?.waitsForNetwork()
        let watch = Task { [unusable, control] in
            if (try? await unusable.waitForOther()) != nil { control?.bytesDidMove() }
        }
        let superfluous: Task<Void, Never>? = state.withLock { state in
            if state.hasEnded { return watch }
            defer { state.networkWatch = watch }
            return state.networkWatch
        }
        superfluous?.cancel()
    }
    #endif

    /// Reports an interim response.
    func receivedInterim(_ response: HTTPURLResponse) {
        let count = state.withLock { state in
            state.progress.hasSent = true
            state.interimCount += 1
            return state.interimCount
        }
        guard count <= HeadChoice.maximumInterimCount else { return end(.failure(HeadChoice.tooManyInterim)) }
        report(.interim(statusCode: response.statusCode, headers: ResponseHeaders.make(response, on: system)))
    }

    /// Ends the exchange after a challenge about certificates was rejected. URLSession itself would only report that the task was canceled.
    func rejected(_ failure: TLSFailure, _ reason: String) {
        end(.failure(TransportError(.tls, reason, tlsFailure: failure)))
    }

    func received(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        // On Linux this method is also called for interim responses.
        if response.statusCode == 101 {
            return end(.failure(TransportError(.malformedResponse, "the server switched protocols, which was not requested")))
        }
        guard response.statusCode >= 200 else { return }
        head((response.statusCode, ResponseHeaders.make(response, on: system)))
    }

    private func head(_ head: HeadChoice.Head) {
        if let final = state.withLock({ $0.hasEnded ? nil : $0.heads.offer(head) }) { report(final) }
    }

    /// Reports the held head, if it was not reported: the body or the end follows.
    private func reportHeldHead() {
        if let held = state.withLock({ $0.heads.settle() }) { report(held) }
    }

    private func report(_ head: HeadChoice.Head) {
        let coding = ContentCoding.codings(in: head.headers).joined(separator: ", ")
        if !takesCompressed && !coding.isEmpty && head.statusCode != 304 && head.statusCode != 204 {
            let reason =
                "the server compressed the body (\(coding)), which was not requested; URLSession on Linux can't tell whether it is complete"
            return end(.failure(TransportError(.malformedResponse, reason)))
        }
        state.withLock { $0.progress.hasHead = true }
        report(.head(statusCode: head.statusCode, headers: head.headers))
    }

    func received(_ data: Data) {
        guard !hasEnded else { return }
        reportHeldHead()
        report(.body(data))
    }

    func redirected(_ response: HTTPURLResponse) {
        let redirect = (response.statusCode, ResponseHeaders.make(response, on: system))
        state.withLock { $0.heads.offerRedirect(redirect) }
    }

    /// Tells URLSession not to follow a redirect. On Linux a canceled task must not receive this decision.
    func answerRedirect(_ keepResponse: () -> Void) {
        answering.withLock { _ in if system == .apple || !hasEnded { keepResponse() } }
    }

    /// Reports the head of a redirect without a Location. URLSession on Linux does not report it, and loses its body. If there is a body,
    /// the exchange ends with an error. Returns false in that case.
    private func reportUnreported(_ response: URLResponse?) -> Bool {
        guard system == .linux, !state.withLock({ $0.heads.hasResponse }), let response = response as? HTTPURLResponse,
            [301, 302, 303, 305, 306, 307, 308].contains(response.statusCode),
            response.value(forHTTPHeaderField: HeaderName.location) == nil
        else { return true }
        let headers = ResponseHeaders.make(response, on: system)
        state.withLock { $0.heads.offerRedirect((response.statusCode, headers)) }
        reportHeldHead()
        if isHead || headers[HeaderName.contentLength] == "0" { return true }
        var error = TransportError(.truncated, "URLSession on Linux loses the body of a redirect without a Location")
        error.repetition = .never("URLSession would lose the body again")
        end(.failure(error))
        return false
    }

    /// Ends the exchange after an authentication challenge. The 401 or 407 is the response.
    func challenged(_ response: URLResponse?) {
        if let response { received(response) }
        reportHeldHead()
        end(.success(()))
    }

    func completed(_ error: (any Error)?, _ response: URLResponse?) {
        guard !hasEnded else { return }
        // After an error, a held head is not reported: it may be the head of a proxy that did not reach the server.
        if let error {
            // URLSession on Apple platforms withholds the head until it has guessed the type of the body. If the body ends before, it does
            // not report the head, but the task has it.
            if system == .apple, let response { received(response) }
            let progress = state.withLock { $0.progress }
            return end(.failure(URLSessionError.map(error, after: progress, on: system)))
        }
        guard reportUnreported(response) else { return }
        reportHeldHead()
        guard state.withLock({ $0.heads.hasResponse }) else {
            return end(.failure(TransportError(.malformedResponse, "the transfer ended without a response")))
        }
        end(.success(()))
    }
}
