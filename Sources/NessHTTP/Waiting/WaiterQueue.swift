/// A first-in, first-out queue that a waiter can leave from any position.
///
/// Joining, leaving and taking the first waiter take constant time, regardless of the number of waiters. The waiters form a linked list,
/// and an identifier leads to its waiter directly. The queue is a plain value that its owner's lock guards. It does not suspend tasks;
/// `Waiter` does.
///
/// An owner must change the queue in place. If another copy exists, the next change copies all waiters.
package struct WaiterQueue<Element> {
    /// Identifies one element of one queue. An identifier is never used again, so the identifier of a removed element finds nothing.
    package struct ID: Hashable, Sendable {
        fileprivate let index: Int
        fileprivate let serial: Int
    }

    fileprivate struct Node {
        var element: Element?
        /// Distinguishes this use of the node from earlier ones.
        var serial: Int
        var previous: Int
        /// The node after this one; for a free node, the next free one.
        var next: Int
    }

    /// The index that stands for no node.
    private static var none: Int { -1 }
    /// An emptied queue keeps room for this many elements. Otherwise a queue that often holds one element would allocate each time.
    private static var keptCapacity: Int { 16 }

    private var nodes: [Node] = []
    private var first = none
    private var last = none
    private var free = none
    private var lastSerial = 0
    /// The number of elements.
    private(set) var count = 0
    package init() {}

    /// The number of nodes that were read or changed so far. Tests verify with it that an operation does not search.
    private(set) var visits = 0

    /// A Boolean value that indicates whether the queue has no element.
    package var isEmpty: Bool { count == 0 }

    /// The number of elements that the memory of the queue has room for.
    var capacity: Int { nodes.capacity }

    /// Adds an element at the end.
    /// - Parameter make: Takes the identifier for `leave(_:)`, and returns the element.
    /// - Returns: The element.
    @discardableResult
    package mutating func join(_ make: (ID) -> Element) -> Element {
        let id = nextID, index = id.index
        lastSerial = id.serial
        let element = make(id)
        let node = Node(element: element, serial: id.serial, previous: last, next: Self.none)
        if free == Self.none {
            nodes.append(node)
        } else {
            free = nodes[index].next
            nodes[index] = node
        }
        visits += 1
        if last == Self.none { first = index } else { link(last, to: index) }
        last = index
        count += 1
        return element
    }

    /// Adds an element at the end.
    /// - Returns: The identifier for `leave(_:)`.
    @discardableResult
    mutating func join(_ element: Element) -> ID {
        let id = nextID
        join { _ in element }
        return id
    }

    /// The identifier of the element that joins next.
    private var nextID: ID { ID(index: free == Self.none ? nodes.count : free, serial: lastSerial + 1) }

    /// Removes an element from any position in the queue.
    /// - Returns: The element; `nil` if it is no longer in the queue.
    @discardableResult
    package mutating func leave(_ id: ID) -> Element? {
        guard nodes.indices.contains(id.index), nodes[id.index].serial == id.serial else { return nil }
        return remove(id.index)
    }

    /// The element that has waited longest; `nil` if the queue is empty.
    var firstElement: Element? { first == Self.none ? nil : nodes[first].element }

    /// The elements in the order in which they joined.
    var elements: [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(count)
        var index = first
        while index != Self.none {
            if let element = nodes[index].element { elements.append(element) }
            index = nodes[index].next
        }
        return elements
    }

    /// Removes the element that has waited longest.
    mutating func takeFirst() -> Element? { first == Self.none ? nil : remove(first) }

    /// Removes the elements that meet a condition, all by default, and returns them in the order in which they joined. Visits every
    /// element.
    package mutating func takeAll(where condition: (Element) -> Bool = { _ in true }) -> [Element] {
        var taken: [Element] = []
        var index = first
        while index != Self.none {
            visits += 1
            let next = nodes[index].next
            if let element = nodes[index].element, condition(element) {
                taken.append(element)
                _ = remove(index)
            }
            index = next
        }
        return taken
    }

    private mutating func link(_ index: Int, to next: Int) {
        visits += 1
        nodes[index].next = next
    }

    private mutating func remove(_ index: Int) -> Element? {
        visits += 1
        let (previous, next) = (nodes[index].previous, nodes[index].next)
        if previous == Self.none { first = next } else { link(previous, to: next) }
        if next == Self.none {
            last = previous
        } else {
            visits += 1
            nodes[next].previous = previous
        }
        let element = nodes[index].element.take()
        // No identifier has the serial zero.
        nodes[index].serial = 0
        nodes[index].next = free
        free = index
        count -= 1
        if isEmpty { forgetNodes() }
        return element
    }

    private mutating func forgetNodes() {
        if nodes.capacity > Self.keptCapacity { nodes = [] } else { nodes.removeAll(keepingCapacity: true) }
        free = Self.none
    }
}

extension WaiterQueue: Sendable where Element: Sendable {}
extension WaiterQueue.Node: Sendable where Element: Sendable {}
