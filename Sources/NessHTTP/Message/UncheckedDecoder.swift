import Foundation

/// A decoder that crosses tasks.
///
/// `@unchecked`: no lock guards it; it is a class that nobody changes once it was handed over, and decoding changes nothing in it. Foundation
/// does not say so everywhere.
struct UncheckedDecoder: @unchecked Sendable {
    let decoder: JSONDecoder
    init(_ decoder: JSONDecoder) { self.decoder = decoder }
}
