private var prompt: JSONValue { stub() }
private var chunks: DecodedEvents<Chunk> { stub() }
