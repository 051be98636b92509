#if os(Linux)
/// Records which transfers each connection carries, and decides whether a connection takes another one.
///
/// A connection of HTTP/1.1 carries one transfer. Before 8.5, libcurl could put a second one on it, which then received the response to the
/// first. So only a connection that has shown HTTP/2 takes another transfer. Only the engine's thread uses this type.
struct CurlConnectionUse<Transfer: Equatable> {
    /// libcurl's number of a connection, which is never reused. Before libcurl 8.2, the socket's descriptor.
    typealias Connection = Int64

    private struct Use {
        /// The transfers that the connection carries, more than one only over HTTP/2. Not a set, which would hash even a single transfer.
        var transfers: [Transfer] = []
        var isMultiplexed = false
        /// True if the connection takes no further transfer.
        var isRetired = false
        /// The number of times that bytes have arrived on the connection.
        var arrivalCount = 0
    }

    private var uses: [Connection: Use] = [:]
    /// The number of recorded connections beyond which idle ones are forgotten. A forgotten HTTP/2 connection is recognized again at its
    /// next response.
    private var limit = 4_096

    /// Puts a transfer on a connection, unless the connection is retired or carries another transfer without having shown HTTP/2.
    /// - Parameters:
    ///   - transfer: The transfer.
    ///   - connection: The connection.
    ///   - isActive: Returns false for a transfer that has left its connection, although `leave` has not been called yet.
    /// - Returns: False if the transfer must not be sent on this connection.
    mutating func join(_ transfer: Transfer, on connection: Connection, isActive: (Transfer) -> Bool) -> Bool {
        // Access by index changes the value in place.
        guard let index = uses.index(forKey: connection) else {
            uses[connection] = Use(transfers: [transfer])
            return true
        }
        if uses.values[index].isRetired { return false }
        if !uses.values[index].isMultiplexed, !uses.values[index].transfers.isEmpty {
            if uses.values[index].transfers.contains(where: isActive) { return false }
            uses.values[index].transfers.removeAll(keepingCapacity: true)
        }
        uses.values[index].transfers.append(transfer)
        return true
    }

    /// Takes a transfer off a connection. Does nothing if the connection does not carry it.
    mutating func leave(_ transfer: Transfer, from connection: Connection) {
        guard let index = uses.index(forKey: connection), let place = uses.values[index].transfers.firstIndex(of: transfer) else { return }
        uses.values[index].transfers.swapAt(place, uses.values[index].transfers.count - 1)
        uses.values[index].transfers.removeLast()
        // The entry stays: the connection carries the next transfer soon, and its array has memory for that.
        if uses.values[index].transfers.isEmpty, uses.count > limit {
            uses = uses.filter { !$0.value.transfers.isEmpty }
            limit = max(4_096, 2 * uses.count)
        }
    }

    /// Records that a connection speaks HTTP/2.
    mutating func noteHTTP2(on connection: Connection) { uses[connection, default: Use()].isMultiplexed = true }

    /// Records that bytes have arrived on a connection of HTTP/2.
    mutating func bytesArrived(on connection: Connection) {
        if uses[connection]?.isMultiplexed == true { uses[connection]?.arrivalCount += 1 }
    }

    /// Returns the number of times that bytes have arrived on a connection of HTTP/2; `nil` for another connection.
    func arrivalCount(on connection: Connection) -> Int? {
        guard let use = uses[connection], use.isMultiplexed else { return nil }
        return use.arrivalCount
    }

    /// Keeps further transfers from a connection, because it seems to be dead.
    mutating func retire(_ connection: Connection) { uses[connection]?.isRetired = true }

    /// Returns true if a connection takes no further transfer, and carries only this one.
    func isRetired(_ connection: Connection, after transfer: Transfer) -> Bool {
        guard let use = uses[connection], use.isRetired else { return false }
        return use.transfers.allSatisfy { $0 == transfer }
    }
}
#endif
