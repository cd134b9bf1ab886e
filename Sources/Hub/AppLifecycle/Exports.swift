// As UIKit does: code that imports it uses Foundation and queues without importing them.
@_exported public import Dispatch
@_exported public import Foundation
