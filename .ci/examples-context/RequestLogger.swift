private func log(_ level: RequestLogger.Level, _ text: String) {}
private enum TraceID: RequestOptionKey { static let defaultValue: String? = nil }
