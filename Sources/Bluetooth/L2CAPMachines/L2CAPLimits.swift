/// The bounds of this host's L2CAP, each with its reason.
package enum L2CAPLimits {
  /// The payload that a signalling frame may have: what every LE device must take
  /// (Core 5.4, Vol 3, Part A, §4), and enough for every command there is.
  static let signallingMTU = 23
  /// The largest security manager PDU (Core 5.4, Vol 3, Part H, §3.2).
  static let securityMTU = 65
  /// The smallest MTU and MPS of a credit-based channel (Core 5.4, Vol 3, Part A, §4.22).
  static let channelMTUMin = 23
  /// The same for channels opened by an enhanced request (Core 5.4, Vol 3, Part A, §4.25).
  package static let enhancedMTUMin = 64
  /// Channels on one link. The CIDs would allow 64; a peer that wants more than 16 is not in need.
  static let channels = 16
  /// Enhanced bearers of the attribute protocol on one link, with those that are being closed.
  static let bearers = 8
  /// K-frames of one channel that wait in the scheduler: enough to keep a controller busy, few
  /// enough that an attribute PDU behind them does not wait for long.
  static let framesAhead = 8
  /// The longest K-frame payload that is sent, even if the peer's MPS is larger: longer ones would
  /// keep attribute PDUs waiting, and those of many channels together overflow the scheduler's
  /// queue.
  static let outgoingMPS = 4096
  /// Sends that a client may have waiting on one channel, for the same reason as their bytes.
  static let waitingSends = 16_384
  /// Bytes that a client may have waiting on one channel besides the first send, so that a peer
  /// which grants no credits can't make a client that never waits fill the memory.
  static let waitingSendBytes = 1 << 20
  /// Bytes that wait for the controller on one link. Reached by a peer that requests and never
  /// receives.
  static let queuedBytes = 1 << 20
  /// How many credits a peer can hold on a channel (Core 5.4, Vol 3, Part A, §4.24).
  static let credits = 65535
  /// How long a peer may take to answer a command, in seconds: RTX may be 1 ... 60 s (Core 5.4,
  /// Vol 3, Part A, §6.2.1), and 30 s is the connection parameter timeout (Part C, Appendix A).
  static let responseSeconds: Int64 = 30
}
