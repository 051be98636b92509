private typealias MyStorage = MockCacheStorage
