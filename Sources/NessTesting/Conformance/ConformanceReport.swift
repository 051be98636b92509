extension TransportConformance {
    /// A check that a transport is known to fail, with the reason for the report. A string literal makes one that always fails.
    public enum KnownLimit: Sendable, Hashable, ExpressibleByStringLiteral {
        /// The check always fails. If it passes, the run fails, because the limit is no longer needed.
        case always(String)
        /// The check fails at some times and passes at others.
        case sometimes(String)
        /// The check is not run, because its failure would end the process or hang.
        case notRun(String)

        /// Makes a limit of a check that always fails.
        public init(stringLiteral value: String) { self = .always(value) }

        var reason: String {
            switch self {
            case .always(let reason), .sometimes(let reason), .notRun(let reason): reason
            }
        }
    }

    /// The outcome of a run.
    public struct Report: Sendable, CustomStringConvertible {
        /// A check that failed.
        public struct Failure: Sendable, CustomStringConvertible {
            /// The check.
            public let id: ID
            /// The rule that the transport breaks.
            public let title: String
            /// The problems: what was expected, and what was received.
            public let problems: [String]

            /// The check, its rule, and one line for each problem.
            public var description: String { (["\(id): \(title)"] + problems.map { "    \($0)" }).joined(separator: "\n") }
        }

        /// A check whose outcome does not count.
        public struct Note: Sendable, CustomStringConvertible {
            /// The check.
            public let id: ID
            /// The reason.
            public let reason: String

            /// The check and the reason.
            public var description: String { "\(id): \(reason)" }
        }

        /// The checks that passed.
        public internal(set) var passed: [ID] = []
        /// The checks that failed.
        public internal(set) var failures: [Failure] = []
        /// The known limits: checks that failed as expected, and those that were not run.
        public internal(set) var knownLimits: [Note] = []
        /// The checks that were skipped.
        public internal(set) var skipped: [Note] = []

        /// True if no check failed.
        public var isPassed: Bool { failures.isEmpty }

        /// The numbers, then the failures, the known limits and the skipped checks, one a line.
        public var description: String {
            var lines = [
                "\(passed.count) passed, \(failures.count) failed, \(knownLimits.count) known limits, \(skipped.count) skipped"
            ]
            lines += failures.map { "✘ \($0)" }
            lines += knownLimits.map { "– known limit: \($0)" }
            lines += skipped.map { "– skipped: \($0)" }
            return lines.joined(separator: "\n")
        }
    }
}
