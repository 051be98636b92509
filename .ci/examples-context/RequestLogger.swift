private func log(_ level: RequestLogger.Level, _ text: String) {}
