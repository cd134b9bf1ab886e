// Apple's module lets its importers see these; code that only imports CoreBluetooth uses them.
@_exported public import CoreFoundation
@_exported public import Dispatch
@_exported public import Foundation
// On Apple's systems a part of Foundation.
@_exported public import KeyValueObserving

/// The name of `DispatchQueue` in Apple's declarations; Dispatch on Linux lacks it.
public typealias dispatch_queue_t = DispatchQueue
