@_exported import NessPromise
