/// Storage that copies of a value share until one of them changes.
///
/// Every step of the pipeline copies messages, and the async frame of every waiting task contains them. In a box they take one word of
/// that frame.
struct CopyOnWriteBox<Fields: Sendable>: Sendable {
    private final class Storage: Sendable {
        let fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    private var storage: Storage

    init(_ fields: Fields) { storage = Storage(fields) }

    var fields: Fields { storage.fields }

    /// Returns true if both share their storage.
    func isIdentical(to other: CopyOnWriteBox) -> Bool { storage === other.storage }

    // Not inlined: the async frame of a function that changes a message would otherwise have room for all fields.
    /// Changes any number of fields with one allocation.
    @inline(never)
    mutating func change(_ body: (inout Fields) -> Void) {
        var fields = storage.fields
        body(&fields)
        storage = Storage(fields)
    }
}
