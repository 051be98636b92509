import Testing

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

    /// Explores from a state. Records an issue if there are more states than the limit, because the rest would not be seen.
    func run(from model: Model, limit: Int = 200_000) -> Report {
        var report = Report(), seen: Set<String> = [describe(model)]
        var front: [(model: Model, path: [String])] = [(model, [])]
        while !front.isEmpty {
            if seen.count >= limit {
                Issue.record("the exploration stopped at \(limit) states")
                break
            }
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

/// A part of a state that only counts, and so does not tell two states apart.
enum Counter {
    case property(AnyKeyPath)
    /// Every value of a type. Only whether there is one counts.
    case type(Any.Type)
}

/// Returns what a value consists of, without what only counts.
func shape(_ value: Any, without counters: [Counter]) -> String {
    let mirror = Mirror(reflecting: value), type = mirror.subjectType
    let isCounter = counters.contains { if case .type(let counter) = $0 { counter == type } else { false } }
    if isCounter { return "\(type)" }
    func shapes(_ children: some Sequence<Mirror.Child>) -> String {
        children.map { "\($0.label ?? "") \(shape($0.value, without: counters))" }.joined(separator: ", ")
    }
    switch mirror.displayStyle {
    case .optional: return mirror.children.first.map { shape($0.value, without: counters) } ?? "nil"
    case .class: return "\(type)"
    case .enum:
        guard let child = mirror.children.first else { return "\(value)" }
        return "\(child.label ?? "")(\(shape(child.value, without: counters)))"
    case .struct, .tuple:
        let hidden = counters.compactMap { counter -> String? in
            guard case .property(let path) = counter, Swift.type(of: path).rootType == type else { return nil }
            let name = "\(path)".split(separator: ".").last.map(String.init)
            #expect(mirror.children.contains { $0.label == name }, "\(path) is a stored property")
            return name
        }
        return "(\(shapes(mirror.children.filter { !hidden.contains($0.label ?? "") })))"
    case .collection, .set, .dictionary: return "[\(shapes(mirror.children))]"
    default:
        let text = "\(value)"
        return text.hasPrefix("(Function)") ? "function" : text
    }
}
