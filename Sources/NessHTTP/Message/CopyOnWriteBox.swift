/// A box of fields that copies of a value share until one of them changes its own.
///
/// Messages are copied at every stage of the pipeline, and live in the frame of every task that waits for one. In a box they take one
/// word there.
struct CopyOnWriteBox<Fields: Sendable>: Sendable {
    private final class Storage: Sendable {
        let fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    private var storage: Storage

    init(_ fields: Fields) { storage = Storage(fields) }

    var fields: Fields { storage.fields }

    /// Returns true if both still share their fields.
    func isIdentical(to other: CopyOnWriteBox) -> Bool { storage === other.storage }

    /// Changes any number of fields with one allocation.
    mutating func change(_ body: (inout Fields) -> Void) {
        var fields = storage.fields
        body(&fields)
        storage = Storage(fields)
    }
}
