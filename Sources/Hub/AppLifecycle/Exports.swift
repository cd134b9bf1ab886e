// As UIKit does: code that imports it uses Foundation and queues without importing them.
@_exported import Dispatch
@_exported import Foundation
