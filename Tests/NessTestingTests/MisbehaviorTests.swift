import NessTesting
import Testing

/// Tests the catalog. `TransportConformance` runs its entries.
struct MisbehaviorTests {
    @Test("names of misbehaviors are unique and in kebab case") func names() {
        let names = Misbehavior.all.map(\.name)
        #expect(names.count >= 60)
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(name.allSatisfy { $0 == "-" || $0.isNumber || ($0.isLowercase && $0.isASCII) }, "\(name)")
        }
        #expect(Misbehavior.all.allSatisfy { $0.summary.hasSuffix(".") })
        #expect(Misbehavior.named("gzip-bomb")?.expectation == .tooLarge)
        #expect(Misbehavior.named("none") == nil)
    }
}
