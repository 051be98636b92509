import Metrics
import Synchronization

/// One time series: a name, the values of its labels, and a number.
final class PrometheusSeries: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    enum Kind: String {
        case counter, gauge, summary
    }

    /// The name and the labels that distinguish a series from the others, as Prometheus writes them.
    struct Key: Hashable {
        let kind: Kind
        let name: String
        let labels: String

        init(_ kind: Kind, _ label: String, _ dimensions: [(String, String)], unit: String) {
            self.kind = kind
            name = Self.name(label) + unit
            labels = dimensions.map { "\(Self.name($0))=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        }

        /// Replaces the characters that a name cannot have. OpenTelemetry's names have dots.
        private static func name(_ text: String) -> String {
            String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        }

        private static func escaped(_ value: String) -> String {
            value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        }
    }

    let key: Key
    private let value = Mutex((sum: 0.0, count: 0))

    init(_ key: Key) { self.key = key }

    func increment(by amount: Int64) { change(by: Double(amount)) }

    func increment(by amount: Double) { change(by: amount) }

    func decrement(by amount: Double) { change(by: -amount) }

    func reset() { set(0.0) }

    func set(_ new: Int64) { set(Double(new)) }

    func set(_ new: Double) { value.withLock { $0.sum = new } }

    func record(_ new: Int64) { record(Double(new)) }

    func record(_ new: Double) { if key.kind == .gauge { set(new) } else { change(by: new) } }

    func recordNanoseconds(_ duration: Int64) { change(by: Double(duration) / 1e9) }

    private func change(by amount: Double) {
        value.withLock { value in
            value.sum += amount
            value.count += 1
        }
    }

    /// The series as lines of text.
    var lines: [String] {
        let (sum, count) = value.withLock { $0 }
        let labels = key.labels.isEmpty ? "" : "{\(key.labels)}"
        switch key.kind {
        case .counter, .gauge: return ["\(key.name)\(labels) \(sum)"]
        case .summary: return ["\(key.name)_sum\(labels) \(sum)", "\(key.name)_count\(labels) \(count)"]
        }
    }
}
