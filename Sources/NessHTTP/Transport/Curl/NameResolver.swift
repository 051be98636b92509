#if os(Linux)
import Foundation
import NessLock
import NessPromise

/// Looks host names up with the system's resolver, for all transports of the process.
///
/// A look-up blocks a thread until the system gives up, and nothing can end it earlier. libcurl would use a thread for each transfer, and
/// leave it behind when the transfer is dropped. Here simultaneous look-ups of a name share one thread, and at most 16 names are looked up
/// at a time. The others wait in line.
final class NameResolver: Sendable {
    /// The reason why a name has no address.
    struct Failure: Error { let reason: String }

    typealias Completion = @Sendable (Result<[String], Failure>) -> Void

    /// Identifies one caller of a look-up.
    struct Ticket: Hashable, Sendable {
        fileprivate let name: String
        fileprivate let number: Int
    }

    private struct LookUp: Sendable {
        var completions: [Int: Completion] = [:]
        /// The place in line; `nil` once a thread looks the name up.
        var place: WaiterQueue<String>.ID?
    }

    private struct State: Sendable {
        var lookUps: [String: LookUp] = [:]
        /// The names that wait for a thread.
        var line = WaiterQueue<String>()
        var threadCount = 0
        var ticketCount = 0
    }

    /// The resolver of the process.
    static let shared = NameResolver(threadLimit: 16)

    private let threadLimit: Int
    private let find: @Sendable (String) -> Result<[String], Failure>
    private let state = Lock(State())

    /// Makes a resolver.
    /// - Parameters:
    ///   - threadLimit: The largest number of concurrent look-ups.
    ///   - find: Looks a name up. It blocks its thread.
    init(threadLimit: Int, find: @escaping @Sendable (String) -> Result<[String], Failure> = NameResolver.addresses) {
        self.threadLimit = threadLimit
        self.find = find
    }

    /// Looks a name up.
    /// - Parameters:
    ///   - name: The name.
    ///   - completion: Receives the addresses in the form that URLs have, IPv6 without brackets. Runs once, on any thread, unless `leave`
    ///     is called before.
    /// - Returns: The ticket for `leave`.
    func lookUp(_ name: String, _ completion: @escaping Completion) -> Ticket {
        let (ticket, needsThread) = state.withLock { state in
            state.ticketCount += 1
            let ticket = Ticket(name: name, number: state.ticketCount)
            if state.lookUps[name] == nil { state.lookUps[name] = LookUp(place: state.line.join(name)) }
            state.lookUps[name]?.completions[ticket.number] = completion
            let needsThread = !state.line.isEmpty && state.threadCount < threadLimit
            if needsThread { state.threadCount += 1 }
            return (ticket, needsThread)
        }
        if needsThread, NativeThread.start({ [self] in run() }) != 0 { threadIsMissing() }
        return ticket
    }

    /// Leaves a look-up. A look-up that has not started is dropped with its last caller.
    func leave(_ ticket: Ticket) {
        state.withLock { state in
            state.lookUps[ticket.name]?.completions[ticket.number] = nil
            guard let lookUp = state.lookUps[ticket.name], let place = lookUp.place, lookUp.completions.isEmpty else { return }
            state.lookUps[ticket.name] = nil
            state.line.leave(place)
        }
    }

    /// The work of a thread: looks names up until none waits.
    private func run() {
        while let name = next() { finish(name, find(name)) }
    }

    private func next() -> String? {
        state.withLock { state in
            guard let name = state.line.takeFirst() else {
                state.threadCount -= 1
                return nil
            }
            state.lookUps[name]?.place = nil
            return name
        }
    }

    private func finish(_ name: String, _ result: Result<[String], Failure>) {
        let completions = state.withLock { $0.lookUps.removeValue(forKey: name)?.completions.values.map { $0 } ?? [] }
        for completion in completions { completion(result) }
    }

    /// Called when a thread could not be started. Ends the look-ups in line if no other thread would start them.
    private func threadIsMissing() {
        let names = state.withLock { state in
            state.threadCount -= 1
            return state.threadCount == 0 ? state.line.takeAll() : []
        }
        for name in names { finish(name, .failure(Failure(reason: "the system has no thread left"))) }
    }

    /// Looks a name up as the system is set up to: in `/etc/hosts`, in the DNS, or elsewhere.
    private static func addresses(of name: String) -> Result<[String], Failure> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &first)
        guard code == 0 else { return .failure(Failure(reason: gai_strerror(code).map { String(cString: $0) } ?? "error \(code)")) }
        defer { freeaddrinfo(first) }
        let entries = sequence(first: first, next: { $0?.pointee.ai_next }).prefix { $0 != nil }
        let addresses = entries.compactMap { entry -> String? in
            guard let address = entry?.pointee, let place = address.ai_addr else { return nil }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard getnameinfo(place, address.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else { return nil }
            return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
        }
        return addresses.isEmpty ? .failure(Failure(reason: "the name has no address")) : .success(addresses)
    }
}
#endif
