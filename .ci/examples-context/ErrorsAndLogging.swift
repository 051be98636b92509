private func showRetryButton() {}
private func showNothingFound() {}
private func report(_ text: String) {}
private struct Upload: Decodable, Sendable { let id: Int }
