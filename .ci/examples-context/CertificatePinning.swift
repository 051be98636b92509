private var current: String { stub() }
private var backup: String { stub() }
private func report(_ text: String) {}
