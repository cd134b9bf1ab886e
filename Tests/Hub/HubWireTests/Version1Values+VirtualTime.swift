import Essentials

@testable import HubWire

// What the ability `virtualTime` adds to version 1.
extension Version1 {
  static let settlings: [String: AppMessage] = [
    "settled": .settled(7, wake: nil),
    "settledWithTimer": .settled(300, wake: .zero + .seconds(3_600)),
    "hasWork": .hasWork(HubSessionID(rawValue: 5)),
    "greetingInVirtualTime": .greeting(
      HubGreeting(app: "Lamp", abilities: [.bluetooth, .identity, .virtualTime])),
  ]

  static let times: [String: HubMessage] = [
    "time": .time(.zero + .milliseconds(1_500)), "settle": .settle(7),
    "welcomeInVirtualTime": .welcome(
      HubWelcome(
        version: 1, abilities: [.bluetooth, .status, .identity, .forgetting, .virtualTime],
        isSimulated: true)),
  ]
}
