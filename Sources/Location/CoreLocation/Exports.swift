// Apple's module lets its importers see these; code that only imports CoreLocation uses them.
@_exported public import Dispatch
@_exported public import Foundation
