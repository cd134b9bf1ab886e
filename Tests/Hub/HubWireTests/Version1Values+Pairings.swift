import BluetoothInterface

@testable import HubWire

// The request that later hubs of version 1 take from programs that attend all pairings.
extension Version1 {
  static let attendanceRequests: [String: AppMessage] = [
    "attendAllPairings": .request(
      HubSessionID(rawValue: 2), .known(.attendAllPairings(RequestToken(rawValue: 300))))
  ]
}
