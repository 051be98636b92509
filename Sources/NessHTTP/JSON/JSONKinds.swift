import NessLock

/// The kinds that the values of one JSON document had, by their places. A decoder does not report the kind of a value, so kinds are tried
/// in turn. The likely one is tried first.
///
/// Each kind that is tried without success makes the decoder create an error with the path of the value. Foundation's decoder takes time
/// for it in proportion to the square of the depth. Values at equal places of a document, such as the elements of an array, nearly always
/// have the same kind.
///
/// The decoder calls `JSONValue.init(from:)` for each value of an array or object, and passes nothing on. So the outermost value keeps this
/// object in a task-local value while it decodes its members.
final class JSONKinds: Sendable {
    @TaskLocal static var current: JSONKinds?

    /// The kinds in the order in which they are tried. A decoder of another format may read a truth value as a number, and anything as a
    /// string.
    enum Kind: Int, CaseIterable { case bool, number, string, array, object }

    /// The place of a value.
    struct Place {
        /// The number of arrays and objects around the value, with those of the type that contains the outermost value.
        let depth: Int
        /// The likely kind.
        let guess: Kind?
        fileprivate let slot: Int
    }

    private struct Level {
        /// The kinds of the members at each position. An array has one for all elements.
        var kinds: [Kind?] = []
        /// The position of the next member.
        var next = 0
        var container = Kind.array
    }

    private struct State {
        var levels: [Level] = []
        var depth = 0
        var visitCount = 0
    }

    /// The depth from which the first member of an array or object is expected to be one as well. Nearer to the top, errors cost little.
    private static let deep = 4

    /// The depth of the outermost value.
    let base: Int
    private let state = Lock(State())

    init(base: Int) { self.base = base }

    /// The number of values that were read below the outermost one.
    var visitCount: Int { state.withLock(\.visitCount) }

    /// Returns the place of the value that is read now.
    func next() -> Place {
        let (depth, slot, guess) = state.withLock { state in
            state.visitCount += 1
            let depth = state.depth
            let slot = state.levels[depth - 1].container == .array ? 0 : state.levels[depth - 1].next
            state.levels[depth - 1].next += 1
            let level = state.levels[depth - 1]
            if slot < level.kinds.count { return (depth, slot, level.kinds[slot]) }
            // The guess is the kind of the container two levels above. It is right for arrays in arrays, and where arrays and objects
            // alternate.
            return (depth, slot, slot == 0 && depth >= Self.deep ? state.levels[depth - 2].container : nil)
        }
        return Place(depth: base + depth, guess: guess, slot: slot)
    }

    /// Remembers the kind of a value.
    func set(_ kind: Kind, at place: Place) {
        state.withLock { state in
            let level = place.depth - base - 1
            while state.levels[level].kinds.count <= place.slot { state.levels[level].kinds.append(nil) }
            state.levels[level].kinds[place.slot] = kind
        }
    }

    /// Starts the members of an array or an object.
    func enter(_ container: Kind) {
        state.withLock { state in
            if state.levels.count == state.depth { state.levels.append(Level()) }
            (state.levels[state.depth].container, state.levels[state.depth].next) = (container, 0)
            state.depth += 1
        }
    }

    /// Ends the members of an array or an object.
    func leave() { state.withLock { $0.depth -= 1 } }
}
