// Apple's modules let their importers see these.
@_exported public import Dispatch
@_exported public import Foundation
