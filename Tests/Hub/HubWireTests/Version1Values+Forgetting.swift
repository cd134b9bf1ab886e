@testable import HubWire

// What the ability `forgetting` adds to version 1.
extension Version1 {
  static let forgettings: [String: AppMessage] = [
    "forget": .forget(7, KeptSessionFilter(app: "Lamp", userID: 1_000)),
    "forgetAll": .forget(300, KeptSessionFilter()),
  ]

  static let forgottens: [String: HubMessage] = [
    "forgotten": .forgotten(7, count: 2), "forgottenNotPermitted": .forgotten(300, count: nil),
  ]
}
