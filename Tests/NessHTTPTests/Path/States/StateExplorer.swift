/// Plays every sequence of events on a state, until no event leads to a state that was not seen before.
///
/// Two states are the same if their descriptions are. So a state is expanded once, and every longer sequence is a sequence of expanded steps.
struct StateExplorer<Model> {
    struct Event {
        let name: String
        /// Changes the model; returns `false` if the event cannot happen in its state.
        let happen: (inout Model) -> Bool
    }

    let events: [Event]
    /// Describes all that tells two states apart.
    let describe: (Model) -> String
    /// Returns the rules that a state breaks.
    let faults: (Model) -> [String]

    /// The numbers of what was seen.
    struct Report {
        var states = 0
        var steps = 0
        /// The length of the longest of the shortest sequences that lead to a state.
        var depth = 0
        /// The first sequence that breaks each rule.
        var faults: [String: [String]] = [:]
    }

    /// Explores from a state.
    /// - Parameter limit: The most states to expand.
    func run(from model: Model, limit: Int = 200_000) -> Report {
        var report = Report(), seen: Set<String> = [describe(model)]
        var front: [(model: Model, path: [String])] = [(model, [])]
        while !front.isEmpty, seen.count < limit {
            var next: [(model: Model, path: [String])] = []
            for (model, path) in front {
                for event in events {
                    var changed = model
                    guard event.happen(&changed) else { continue }
                    report.steps += 1
                    let path = path + [event.name]
                    for fault in faults(changed) where report.faults[fault] == nil { report.faults[fault] = path }
                    if seen.insert(describe(changed)).inserted { next.append((changed, path)) }
                }
            }
            if !next.isEmpty { report.depth += 1 }
            front = next
        }
        report.states = seen.count
        return report
    }
}

/// Returns what a value consists of, without what only counts.
/// - Parameter counters: The names of properties to leave out.
func shape(_ value: Any, without counters: Set<String> = []) -> String {
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .optional: return mirror.children.first.map { shape($0.value, without: counters) } ?? "nil"
    case .class: return "\(type(of: value))"
    case .enum:
        guard let child = mirror.children.first else { return "\(value)" }
        return "\(child.label ?? "")(\(shape(child.value, without: counters)))"
    case .struct, .tuple:
        let children = mirror.children.filter { !counters.contains($0.label ?? "") }
        return "(\(children.map { "\($0.label ?? "") \(shape($0.value, without: counters))" }.joined(separator: ", ")))"
    case .collection, .set, .dictionary: return "[\(mirror.children.map { shape($0.value, without: counters) }.joined(separator: ", "))]"
    default:
        let text = "\(value)"
        return text.hasPrefix("(Function)") ? "function" : text
    }
}
