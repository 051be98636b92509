import Testing

/// The codes in Documentation/Inventory.md that a test covers, as in `@Test("a sentence", .covers("ION-29", "BI-18"))`.
///
/// `InventoryTests` reads the codes from the sources and compares them with the tables. A failure of the test prints its codes.
///
/// Tags would need a macro's declaration for each of several hundred codes, and would spell `ION-29` in a way that no search finds.
package struct InventoryCodes: TestTrait {
    package let comments: [Comment]
}

extension Trait where Self == InventoryCodes {
    /// States that the test covers the capabilities, bugs and rulings with these codes.
    package static func covers(_ codes: String...) -> InventoryCodes { InventoryCodes(comments: codes.map { Comment(rawValue: $0) }) }
}
