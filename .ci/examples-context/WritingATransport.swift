private var files: [String: Data] { stub() }
