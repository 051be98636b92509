private var task: Promise<User> { stub() }
private var savedToken: String { stub() }
