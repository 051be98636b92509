private var ids: Promise<[Int]> { stub() }
