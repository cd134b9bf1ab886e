// Apple's module lets its importers see these two; code that only imports CoreBluetooth uses them.
@_exported public import Dispatch
@_exported public import Foundation
