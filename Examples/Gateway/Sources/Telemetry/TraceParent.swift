import Tracing

/// The identifiers of a span, as the field `traceparent` carries them (W3C Trace Context).
struct TraceParent: Sendable, Equatable {
    static let fieldName = "traceparent"

    /// 32 hexadecimal digits: the trace.
    let trace: String
    /// 16 hexadecimal digits: the span.
    let span: String
    /// Two hexadecimal digits: `01` if the trace is recorded.
    let flags: String

    /// Makes the identifiers of a span.
    /// - Parameter parent: The span above it; `nil` to start a trace.
    init(below parent: TraceParent?) {
        trace = parent?.trace ?? Self.randomDigits() + Self.randomDigits()
        span = Self.randomDigits()
        flags = parent?.flags ?? "01"
    }

    /// Reads the value of a field.
    /// - Returns: `nil` for a value that the specification forbids.
    init?(_ value: String) {
        let parts = value.split(separator: "-", omittingEmptySubsequences: false)
        let isLong = parts.count == 4 || (parts.count > 4 && parts[0] != "00")
        guard isLong, parts.prefix(4).map(\.utf8.count) == [2, 32, 16, 2], parts[0] != "ff",
            parts.prefix(4).allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isHexDigit && !$0.isUppercase } }),
            parts[1...2].allSatisfy({ $0.contains { $0 != "0" } })
        else { return nil }
        (trace, span, flags) = (String(parts[1]), String(parts[2]), String(parts[3]))
    }

    /// The value of the field.
    var value: String { "00-\(trace)-\(span)-\(flags)" }

    /// Returns 16 digits, not all of them zero: such an identifier would be invalid.
    private static func randomDigits() -> String {
        let digits = String(UInt64.random(in: 1...UInt64.max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension ServiceContext {
    private enum Key: ServiceContextKey { typealias Value = TraceParent }

    /// The identifiers of the current span.
    var traceParent: TraceParent? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }
}
