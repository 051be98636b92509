private var response: Writer { stub() }
private var accepted: String { stub() }
