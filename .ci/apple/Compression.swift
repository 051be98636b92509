// Compression of bytes that come in pieces.
import Foundation

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public enum FilterOperation { case compress, decompress }

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public enum Algorithm: CaseIterable { case lzfse, zlib, lz4, lzma }

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public class OutputFilter {
    public init(
        _ operation: FilterOperation, using algorithm: Algorithm, bufferCapacity: Int = 65_536,
        writingTo writeFunc: @escaping (Data?) throws -> Void
    ) throws {}
    public func write<D: DataProtocol>(_ data: D?) throws {}
    public func finalize() throws {}
}
