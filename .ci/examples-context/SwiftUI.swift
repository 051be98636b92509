import Observation
#if canImport(SwiftUI)
import SwiftUI
#endif
