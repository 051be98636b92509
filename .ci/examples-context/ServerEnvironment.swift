private var stagingToken: String { stub() }
