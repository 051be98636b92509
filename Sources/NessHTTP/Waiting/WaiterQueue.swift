/// A first-in, first-out queue that a waiter can leave from any position.
///
/// Joining and taking the first waiter take constant time on average, regardless of the number of waiters. Leaving takes a binary search.
/// The queue is a plain value that its owner's lock guards. It does not suspend tasks; `Waiter` does.
///
/// An owner must change the queue in place. If another copy exists, the next change copies all waiters.
package struct WaiterQueue<Element> {
    /// Identifies one element of one queue. An identifier is never used again, so the identifier of a removed element finds nothing.
    package struct ID: Hashable, Sendable {
        fileprivate let number: Int
    }

    /// An emptied queue keeps room for this many elements. Otherwise a queue that often holds one element would allocate each time.
    private static var keptCapacity: Int { 16 }

    /// The elements in the order in which they joined, by ascending number. `nil` in place of a removed element.
    private var entries: [(number: Int, element: Element?)] = []
    /// The index of the first element; 0 for an empty queue.
    private var firstIndex = 0
    private var lastNumber = 0
    /// The number of elements.
    private(set) var count = 0

    /// Makes an empty queue.
    package init() {}

    /// A Boolean value that indicates whether the queue has no element.
    package var isEmpty: Bool { count == 0 }

    /// The number of entries that the memory of the queue has room for.
    var capacity: Int { entries.capacity }

    /// Adds an element at the end.
    /// - Parameter make: Takes the identifier for `leave(_:)`, and returns the element.
    /// - Returns: The element.
    @discardableResult
    package mutating func join(_ make: (ID) -> Element) -> Element {
        lastNumber += 1
        let element = make(ID(number: lastNumber))
        entries.append((number: lastNumber, element: element))
        count += 1
        return element
    }

    /// Adds an element at the end.
    /// - Returns: The identifier for `leave(_:)`.
    @discardableResult
    mutating func join(_ element: Element) -> ID {
        join { _ in element }
        return ID(number: lastNumber)
    }

    /// Removes an element from any position in the queue.
    /// - Returns: The element; `nil` if it is no longer in the queue.
    @discardableResult
    package mutating func leave(_ id: ID) -> Element? {
        var (low, high) = (firstIndex, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < id.number { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].number == id.number ? remove(low) : nil
    }

    /// The element that has waited longest; `nil` if the queue is empty.
    var firstElement: Element? { isEmpty ? nil : entries[firstIndex].element }

    /// The elements in the order in which they joined.
    var elements: [Element] { entries.compactMap { $0.element } }

    /// Removes the element that has waited longest.
    mutating func takeFirst() -> Element? { isEmpty ? nil : remove(firstIndex) }

    /// Removes the elements that meet a condition, all by default, and returns them in the order in which they joined. Visits every
    /// element.
    package mutating func takeAll(where condition: (Element) -> Bool = { _ in true }) -> [Element] {
        var taken: [Element] = []
        for index in entries.indices {
            guard let element = entries[index].element, condition(element) else { continue }
            taken.append(element)
            entries[index].element = nil
        }
        count -= taken.count
        tidy()
        return taken
    }

    private mutating func remove(_ index: Int) -> Element? {
        guard let element = entries[index].element.take() else { return nil }
        count -= 1
        tidy()
        return element
    }

    /// Finds the first element again after a removal, and compacts the entries once the removed ones outnumber the others. Amortized over
    /// all operations, each entry is moved a constant number of times. Only an empty queue frees its memory.
    private mutating func tidy() {
        if isEmpty {
            firstIndex = 0
            if capacity > Self.keptCapacity { entries = [] } else { entries.removeAll(keepingCapacity: true) }
            return
        }
        while entries[firstIndex].element == nil { firstIndex += 1 }
        guard entries.count > max(Self.keptCapacity, 2 * count) else { return }
        entries.removeAll { $0.element == nil }
        firstIndex = 0
    }
}

extension WaiterQueue: Sendable where Element: Sendable {}
