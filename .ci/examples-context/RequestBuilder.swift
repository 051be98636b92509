private var users: RequestBuilder { stub() }
