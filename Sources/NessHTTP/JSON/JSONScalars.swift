/// The strings, numbers and objects in JSON, in order.
struct JSONScalars {
    /// A string or a number in JSON.
    struct Item {
        /// The string, or the digits of the number.
        var text: String
        /// The place in the text, with the quotes.
        var range: Range<Int>
        /// The place of the member's value if the string is a key. If the JSON is cut off in the value, the place reaches to the end.
        var value: Range<Int>?
        /// The number of the object if the string is a key.
        var object: Int?
    }

    var list: [Item] = []
    /// The places of the objects. An object that is cut off has no end.
    private(set) var objects: [(start: Int, end: Int?)] = []
    /// If the text is cut off, the position of its last string, number or word, which may lack its end.
    var end: Int?
    /// The numbers of the objects around the reader's position.
    private var open: [Int] = []

    mutating func startObject(at index: Int) {
        open.append(objects.count)
        objects.append((index, nil))
    }

    mutating func endObject(at index: Int) {
        if let object = open.popLast() { objects[object].end = index }
    }

    /// Makes the last string the key of a member.
    mutating func startMember(_ value: Range<Int>) {
        list[list.count - 1].value = value
        list[list.count - 1].object = open.last
    }

    /// Sets the end of a member's value.
    mutating func endMember(_ number: Int, at index: Int) {
        if let value = list[number].value { list[number].value = value.lowerBound..<index }
    }
}
