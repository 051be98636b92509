private var prompt: JSONValue { stub() }
private var chunks: DecodedSequence<Chunk> { stub() }
