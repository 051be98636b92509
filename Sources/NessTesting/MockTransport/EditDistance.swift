/// The cost of turning one sequence into another, by removing, adding and replacing elements.
enum EditDistance {
    /// Returns the cost of turning a sequence into each beginning of another one: the last cost is that for the whole other sequence.
    /// - Parameters:
    ///   - old: The sequence.
    ///   - new: The other sequence.
    ///   - gap: The cost of an element that is removed or added.
    ///   - replacing: The cost of putting an element of `new` in the place of one of `old`.
    static func row<Old, New>(
        from old: ArraySlice<Old>, to new: ArraySlice<New>, gap: Int, replacing: (Old, New) -> Int
    ) -> [Int] {
        var row = (0...new.count).map { $0 * gap }
        for element in old {
            var next = [row[0] + gap]
            for (index, other) in new.enumerated() {
                next.append(min(row[index] + replacing(element, other), row[index + 1] + gap, next[index] + gap))
            }
            row = next
        }
        return row
    }

    /// Returns true if one string is probably a misspelling of the other: a third of the characters differ at most, and at least one may.
    static func areAlike(_ left: String, _ right: String) -> Bool {
        let longer = max(left.count, right.count)
        // The cost grows with the product of the lengths. Long segments are identifiers, which nobody writes by hand.
        guard (2...64).contains(longer) else { return left == right }
        return between(left, right) <= max(1, longer / 3)
    }

    /// Returns the number of characters to remove, add or replace, regardless of their case.
    static func between(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.lowercased()), Array(right.lowercased()))
        return row(from: left[...], to: right[...], gap: 1) { $0 == $1 ? 0 : 1 }.last ?? 0
    }
}
