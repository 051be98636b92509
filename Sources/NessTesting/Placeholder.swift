import NessHTTP
