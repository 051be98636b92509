private struct Unreachable: Error {}
