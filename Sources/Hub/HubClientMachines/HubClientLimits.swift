package import Essentials
import HubWire

/// What bounds the client's use of memory and time, and why so.
package enum HubClientLimits {
  /// How long a connection may take, from the attempt to the hub's answer to the greeting. A hub takes less than
  /// a millisecond; a frozen one keeps no program waiting for longer.
  package static let greetingMax = TimeSpan.seconds(5)
  /// When a hub is pinged: so long after it was sent something, also if it sends other messages, or after its last
  /// message to a program that wants something of it. With the time for the answer and the last look, a hub that doesn't
  /// answer is left after 5 s.
  package static let silence = TimeSpan.seconds(2)
  /// The silence after which a hub is pinged of which nothing is wanted. The system reports a hub that ends, and a
  /// frozen one is noticed when it is needed; 1,000 idle programs cost the hub 17 messages a second.
  package static let idleSilence = TimeSpan.seconds(60)
  /// How long the answer to a ping may take.
  package static let answerMax = TimeSpan.milliseconds(2_900)
  /// How long reading the arrived bytes may take before a hub is left: this process itself may have been stopped
  /// while the answer came.
  package static let lastLook = TimeSpan.milliseconds(100)
  /// How long an answer may take while other messages arrive.
  static let busyMax = TimeSpan.seconds(30)
  /// How late a timer of a process is that was stopped itself.
  static let stoppedLateness = TimeSpan.seconds(1)
  /// The pause before the first attempt to connect again. It doubles with each one that fails.
  static let pauseMin = TimeSpan.milliseconds(50)
  /// The longest pause: a hub that is back is found within a second. An attempt costs two system calls.
  static let pauseMax = TimeSpan.seconds(1)
  /// The pause after a refusal, which an administrator has to change.
  static let refusalPause = TimeSpan.seconds(5)
  /// How long a connection must last before the next pause is the shortest again.
  static let stableAfter = TimeSpan.seconds(2)
  /// How long a connection without sessions stays open.
  static let unusedMax = TimeSpan.seconds(10)
  /// Requests of a session that wait for the hub. A session's app waits for the radio; only few
  /// publish before.
  package static let waitingRequestsMax = 1_024
  /// What a client ends before the hub has answered what it has kept: more than an app has peers.
  package static let earlyEndsMax = 1_024
  /// The bytes of a value that answer a peer: more than a response takes (Core 5.4, Vol 3, Part F, §3.2.9).
  static let responseByteCountMax = 1_024
  /// Links that a hub may report: a controller's connection handles (Core 5.4, Vol 2, Part E, §5.4.2).
  package static let linksMax = 0xF00
  /// Channels of a session: more than peers open, little enough that a hub fills no memory.
  package static let channelsMax = 1 << 12
  /// Subscriptions of all peers to a session's characteristics; as above.
  package static let subscriptionsMax = 1 << 16
  /// Events that a session hasn't acknowledged, beyond which the hub ignores the client's flow control.
  package static let unacknowledgedMax = 1 << 20
  /// Peers with out-of-band data, as many as a host keeps.
  static let outOfBandMax = 64
}
