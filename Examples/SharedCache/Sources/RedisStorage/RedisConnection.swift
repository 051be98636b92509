import NIOCore
import NIOPosix

/// A connection to Redis. It sends commands without waiting for earlier replies; Redis replies in their order.
final class RedisConnection: Sendable {
    struct TimedOut: Error {}

    /// An error that the server sent, such as `OOM command not allowed when used memory > 'maxmemory'`.
    struct Rejected: Error, CustomStringConvertible {
        let description: String
    }

    private let channel: any Channel
    private let timeout: TimeAmount

    private init(_ channel: any Channel, _ timeout: TimeAmount) { (self.channel, self.timeout) = (channel, timeout) }

    deinit { channel.close(promise: nil) }

    /// Connects and signs in.
    static func connect(to address: RedisAddress, password: String?, timeout: TimeAmount) async throws -> RedisConnection {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connectTimeout(timeout).channelInitializer {
            channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers(ByteToMessageHandler(RedisReplyDecoder()), RedisHandler())
            }
        }
        let channel =
            switch address {
            case .host(let host, let port): try await bootstrap.connect(host: host, port: port).get()
            case .socket(let path): try await bootstrap.connect(unixDomainSocketPath: path).get()
            }
        let connection = RedisConnection(channel, timeout)
        if let password { try await connection.send(["AUTH", password].map { ByteBuffer(string: $0) }) }
        return connection
    }

    var isOpen: Bool { channel.isActive }

    /// Sends a command. If no reply arrives in time, the connection closes, because later replies would be late as well.
    @discardableResult
    func send(_ arguments: [ByteBuffer]) async throws -> RedisReply {
        let promise = channel.eventLoop.makePromise(of: RedisReply.self)
        let timer = channel.eventLoop.scheduleTask(in: timeout) { [channel] in
            promise.fail(TimedOut())
            channel.close(promise: nil)
        }
        channel.writeAndFlush(RedisCommand(bytes: Self.encode(arguments), reply: promise)).whenFailure { promise.fail($0) }
        defer { timer.cancel() }
        let reply = try await promise.futureResult.get()
        if case .error(let text) = reply { throw Rejected(description: text) }
        return reply
    }

    private static func encode(_ arguments: [ByteBuffer]) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(arguments.reduce(16) { $0 + $1.readableBytes + 16 })
        bytes.writeString("*\(arguments.count)\r\n")
        for argument in arguments {
            bytes.writeString("$\(argument.readableBytes)\r\n")
            bytes.writeImmutableBuffer(argument)
            bytes.writeString("\r\n")
        }
        return bytes
    }
}

/// The place where Redis listens.
public enum RedisAddress: Sendable {
    case host(String, port: Int)
    /// A Unix socket.
    case socket(path: String)
}

private struct RedisCommand: Sendable {
    let bytes: ByteBuffer
    let reply: EventLoopPromise<RedisReply>
}

/// Gives each command its reply.
private final class RedisHandler: ChannelDuplexHandler {
    typealias InboundIn = RedisReply
    typealias OutboundIn = RedisCommand
    typealias OutboundOut = ByteBuffer

    private var waiting = CircularBuffer<EventLoopPromise<RedisReply>>()

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let command = unwrapOutboundIn(data)
        waiting.append(command.reply)
        context.write(wrapOutboundOut(command.bytes), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Without a command there is nothing to reply to: no later reply would belong to its command.
        guard let reply = waiting.popFirst() else { return context.close(promise: nil) }
        reply.succeed(unwrapInboundIn(data))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { end(ChannelError.eof) }

    private func end(_ error: any Error) {
        while let reply = waiting.popFirst() { reply.fail(error) }
    }
}
