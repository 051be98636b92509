import Foundation

/// A decoder that crosses tasks.
///
/// `@unchecked`: the lock is Foundation's own, which guards a decoder's options; decoding changes nothing else. Foundation does not say so
/// everywhere.
struct UncheckedDecoder: @unchecked Sendable {
    let decoder: JSONDecoder
    init(_ decoder: JSONDecoder) { self.decoder = decoder }
}
