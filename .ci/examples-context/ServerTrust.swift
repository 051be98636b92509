private var current: String { stub() }
private var backup: String { stub() }
