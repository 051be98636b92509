var filmData: Data { stub() }
