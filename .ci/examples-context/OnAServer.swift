private var response: Writer { stub() }
