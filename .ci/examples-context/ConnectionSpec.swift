private let shopDecoder = JSONDecoder()
