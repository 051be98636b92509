import Foundation

/// Events of an exchange that are handed on together.
///
/// Adjacent pieces of a body are joined, because each piece has a cost above the transport: a hop to the queue of a file, for example.
struct EventBatch: Sendable {
    /// The events, in order.
    private(set) var events: [TransportEvent] = []
    /// The number of body bytes among the events.
    private(set) var byteCount = 0

    /// The longest piece that joining makes, in bytes. Each piece of a download costs some hops between threads.
    static let pieceLimit = 512 << 10

    /// True without events.
    var isEmpty: Bool { events.isEmpty }

    /// Adds an event at the end.
    mutating func add(_ event: TransportEvent) {
        // Most responses have a connection, a head and a piece of a body.
        if events.isEmpty { events.reserveCapacity(3) }
        guard case .body(let data) = event else { return events.append(event) }
        byteCount += data.count
        if !join(data.count, { $0.append(data) }) { events.append(event) }
    }

    /// Adds bytes of the body at the end.
    mutating func add(body bytes: UnsafeBufferPointer<UInt8>) {
        byteCount += bytes.count
        if !join(bytes.count, { $0.append(bytes) }) { events.append(.body(Data(buffer: bytes))) }
    }

    /// Adds the events of another batch at the end.
    mutating func add(_ batch: EventBatch) {
        if isEmpty { self = batch } else { for event in batch.events { add(event) } }
    }

    /// Appends bytes to the last piece. Returns false if the last event is not a piece of the body, or if the piece would become too long.
    private mutating func join(_ count: Int, _ append: (inout Data) -> Void) -> Bool {
        guard case .body(var piece)? = events.last, piece.count + count <= Self.pieceLimit else { return false }
        // The array gives up its reference, so that the piece grows in place.
        events.removeLast()
        append(&piece)
        events.append(.body(piece))
        return true
    }
}
