import NIOCore
import Synchronization

/// Notices that the client has left, while nobody reads from or writes to its connection.
///
/// A client that ends only its sending side counts as gone, as for most gateways: an end of the stream looks the same in both cases.
final class ClientWatch: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = NIOAny

    private struct State {
        var hasLeft = false
        var onLeave: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Runs a closure when the client leaves, or immediately if it has left. A later call replaces the closure.
    func onLeave(_ body: (@Sendable () -> Void)?) {
        let isLate = state.withLock { state in
            state.onLeave = body
            return state.hasLeft
        }
        if isLate { body?() }
    }

    private func leave() {
        let body = state.withLock { state in
            defer { state.onLeave = nil }
            state.hasLeft = true
            return state.onLeave
        }
        body?()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            leave()
            // Otherwise a body would be written to nobody.
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }
}
