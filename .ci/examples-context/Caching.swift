private struct NewsDecoder: ResponseDecoder { func decode(from data: Data) throws -> [String] { [] } }
private var parse: NewsDecoder { stub() }
