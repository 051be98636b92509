private func showRetryButton() {}
private func showNothingFound() {}
private func report(_ text: String) {}
