import Foundation
import NIOCore
import NIOFoundationCompat
import NessHTTP

/// A storage of an `HTTPCache` in a Redis server, for processes that share responses.
///
/// It connects when it is first used, and again after the connection was lost. Each call fails after the timeout. Use one server, not a
/// cluster. Any `maxmemory-policy` is right: the cache does not find a record whose URL has lost its index.
public actor RedisStorage: CacheStorage {
    private let address: RedisAddress
    private let password: String?
    private let prefix: String
    private let timeout: TimeAmount
    private var connecting: Task<RedisConnection, any Error>?

    /// Makes a storage. It connects later.
    /// - Parameters:
    ///   - address: The server.
    ///   - password: The password of the server's default user. `nil` for none.
    ///   - prefix: The start of each key that the storage uses.
    ///   - timeout: The time after which a call fails, and the connection is replaced.
    public init(_ address: RedisAddress, password: String? = nil, prefix: String = "ness:", timeout: Duration = .seconds(5)) {
        (self.address, self.password, self.prefix) = (address, password, prefix)
        self.timeout = TimeAmount(timeout)
    }

    /// Returns a record. See `CacheStorage`.
    public func read(_ key: CacheStorageKey) async throws -> Data? {
        // A record counts only while the index of its URL names it. Redis may evict the index alone, and a removal would miss the record.
        let script = "if redis.call('ZSCORE', KEYS[2], KEYS[1]) then return redis.call('GET', KEYS[1]) end"
        guard case .bytes(let record) = try await run(script, key) else { return nil }
        return Data(buffer: record, byteTransferStrategy: .noCopy)
    }

    /// Stores a record in one step, with its time to live. See `CacheStorage`.
    public func write(_ record: Data, for key: CacheStorageKey, expiresAfter time: Duration) async throws {
        // First the command that fails if the memory is full. After another one that changes something, a script may exceed the limit.
        let script = """
            redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
            local time = redis.call('TIME')
            local now = time[1] * 1000
            redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
            redis.call('ZADD', KEYS[2], now + ARGV[2], KEYS[1])
            if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
            """
        let milliseconds = max(1, time.components.seconds * 1_000)
        _ = try await run(script, key, ByteBuffer(data: record), ByteBuffer(string: "\(milliseconds)"))
    }

    /// Removes a record. See `CacheStorage`.
    public func remove(_ key: CacheStorageKey) async throws {
        _ = try await run("redis.call('ZREM', KEYS[2], KEYS[1]) redis.call('UNLINK', KEYS[1])", key)
    }

    /// Removes the records of a URL in one step. See `CacheStorage`.
    public func removeAll(ofURL url: String) async throws {
        let script = """
            for _, record in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('UNLINK', record) end
            redis.call('UNLINK', KEYS[1])
            """
        _ = try await send("EVAL", script, "1", index(url))
    }

    /// Removes the records that a closure chooses. See `CacheStorage`.
    public func removeAll(where isRemoved: @Sendable (CacheStorageKey) -> Bool) async throws {
        let pattern = prefix.map { "*?[]\\".contains($0) ? "\\\($0)" : "\($0)" }.joined() + "*"
        var cursor = "0"
        repeat {
            let reply = try await send("SCAN", cursor, "MATCH", pattern, "COUNT", "1000")
            guard case .list(let parts) = reply, parts.count == 2, case .bytes(let next) = parts[0], case .list(let names) = parts[1] else {
                throw RedisReplyDecoder.Malformed()
            }
            let chosen = names.compactMap { name -> String? in
                guard case .bytes(let bytes) = name else { return nil }
                let name = String(buffer: bytes)
                // The prefix is followed by the key of a record, or by the name of an index.
                guard let key = CacheStorageKey(rawValue: String(decoding: name.utf8.dropFirst(prefix.utf8.count), as: UTF8.self))
                else { return nil }
                return isRemoved(key) ? name : nil
            }
            if !chosen.isEmpty { try await send(["UNLINK"] + chosen) }
            cursor = String(buffer: next)
        } while cursor != "0"
    }

    // MARK: commands

    /// The name of the sorted set that has the records of a URL, with the times at which they expire.
    private func index(_ url: String) -> String { "\(prefix)url:\(url)" }

    /// Runs a script with the names of a record and of its index.
    private func run(_ script: String, _ key: CacheStorageKey, _ arguments: ByteBuffer...) async throws -> RedisReply {
        let names = ["EVAL", script, "2", prefix + key.rawValue, index(key.url)]
        return try await connection().send(names.map { ByteBuffer(string: $0) } + arguments)
    }

    private func send(_ words: String...) async throws -> RedisReply { try await send(words) }

    @discardableResult
    private func send(_ words: [String]) async throws -> RedisReply { try await connection().send(words.map { ByteBuffer(string: $0) }) }

    private func connection() async throws -> RedisConnection {
        let last = connecting
        if let last, let connection = try? await last.value, connection.isOpen { return connection }
        // Meanwhile another call may have started to connect.
        if let connecting, connecting != last { return try await connecting.value }
        let task = Task { [address, password, timeout] in
            try await RedisConnection.connect(to: address, password: password, timeout: timeout)
        }
        connecting = task
        return try await task.value
    }
}
