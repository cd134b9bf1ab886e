import Essentials

/// Bounds and times of a host on BlueZ.
package enum BlueZLimits {
  /// Calls without a reply; dbus-daemon refuses more than 128 for each connection.
  package static let pendingCallCountMax = 96
  /// Calls of other programs without an answer.
  package static let incomingCallCountMax = 256
  /// Devices that are remembered; bluetoothd removes unused ones after 30 s.
  package static let deviceCountMax = 4_096
  /// Attributes of a device: all handles.
  package static let attributeCountMax = 65_535
  /// Links that clients request.
  package static let linkCountMax = 256
  /// Requests of one client that have not ended.
  package static let requestCountMax = 4_096
  /// Events that a client has not acknowledged before advertisements and values are dropped.
  package static let unhandledEventCountMax = 8_192
  /// Values that are kept until a subscription is confirmed.
  package static let earlyValueCountMax = 256
  /// Connections for which `Connect` is called at the same time.
  package static let connectingCountMax = 8

  /// Channels of all clients, and the PSMs on which they listen.
  package static let channelCountMax = 64
  static let listenerCountMax = 16
  /// Received bytes of a channel that its client has not consumed before its socket is no longer read.
  static let channelWindow = 65_536
  /// Bytes that wait in a channel, in each direction: beyond, a send is refused, and a channel that receives is closed.
  static let channelByteCountMax = 1_048_576
  /// How long a channel may take to open: longer than the kernel's limit of 40 s.
  static let channelOpeningMax = TimeSpan.seconds(45)

  /// Services of all clients, and attributes of each.
  package static let serviceCountMax = 128
  package static let serviceAttributeCountMax = 1_024
  /// How long a client may take to answer a request of a peer: bluetoothd waits for 5 s.
  static let serverAnswerMax = TimeSpan.milliseconds(4_500)
  /// How long a peer may take to confirm an indication (Core 5.4, Vol 3, Part F, §3.3.3).
  static let confirmationMax = TimeSpan.seconds(30)
  /// How long a procedure of the attribute protocol may take: its 30 s, and a little for bluetoothd.
  static let procedureMax = TimeSpan.seconds(35)
  /// How long bluetoothd may take to answer about itself.
  static let answerMax = TimeSpan.seconds(25)
  /// How long `Connect` may take: longer than bluetoothd's and the kernel's own limits. Then it is cancelled, and the
  /// device is waited for again.
  static let connectionMax = TimeSpan.seconds(60)
  /// How long a pairing may take: each of its steps has 30 s (Core 5.4, Vol 3, Part H, §3.4), and users have 60 s in
  /// bluetoothd.
  static let pairingMax = TimeSpan.seconds(180)
  /// How long a user may take to answer a question of a pairing: bluetoothd's 60 s, and a little more.
  static let userAnswerMax = TimeSpan.seconds(65)
  /// The number of writes without response after which a read proves that bluetoothd has sent them.
  static let commandCountMax = 32
  /// Patterns of one monitor: bluetoothd's size of a message to the kernel has eight bits, and eight patterns overflow it.
  static let monitorPatternCountMax = 7
  /// Monitors of this program. The kernel has 32 for all.
  static let monitorCountMax = 16
  /// The silence after which a controller reports a device as lost.
  static let monitorSilenceSeconds: UInt16 = 10
  /// How often a device that the controller hears is reported to clients that want duplicates.
  static let monitorReportInterval = TimeSpan.seconds(5)
  /// How long the controller may take to report the RSSI of a link.
  static let rssiMax = TimeSpan.seconds(5)
  /// How long a link may take to end.
  static let disconnectionMax = TimeSpan.seconds(10)
  /// How long a link that this program had made before the radio was lost is kept for a client.
  static let unusedLinkMax = TimeSpan.seconds(10)
  /// How long objects of services may follow `ServicesResolved` (github.com/bluez/bluez/issues/1489).
  static let objectsMax = TimeSpan.seconds(3)
  /// The pauses before something that bluetoothd refused is tried again; the last one repeats.
  static let pauses: [TimeSpan] = [
    .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8),
  ]
  /// The attempts to register a service or an advertisement again before its client is reset, half a minute.
  static let registrationCountMax = 8
  /// Failures of a discovery or of a connection between two sentences in the log.
  static let loggedFailureCount = 100
  /// The silence of all devices after which a discovery is started anew.
  static let silenceMax = TimeSpan.seconds(120)
  /// How often an operation that is refused because another one is in progress is tried, twice a second.
  static let inProgressCountMax = 20

  static func pause(after failureCount: Int) -> TimeSpan {
    pauses[min(max(failureCount, 1), pauses.count) - 1]
  }
}
