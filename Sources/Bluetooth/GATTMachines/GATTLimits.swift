import Essentials

/// Limits of the GATT machines, independent of peers and clients.
package enum GATTLimits {
  /// A transaction that takes longer ends its bearer (Core 5.4, Vol 3, Part F, §3.3.3).
  static let transactionTimeout: TimeSpan = .seconds(30)
  /// The longest value of an attribute (Core 5.4, Vol 3, Part F, §3.2.9).
  static let valueByteCountMax = 512

  /// How long a client of this host has for the answer to a peer's request. After this the host
  /// answers with an error, well before the peer gives the link up for lack of an answer.
  static let clientAnswerTimeout: TimeSpan = .seconds(20)

  // The client.
  /// Operations of one program that wait for their turn on one link: more than any app has, 64 kB at most.
  static let waitingOperationsMax = 256
  /// Those of all programs, beyond which only programs with less than an equal share may have more.
  static let allWaitingOperationsMax = 4_096
  /// Reads under way on one link, with those that have ended and are reported after earlier ones.
  static let runsMax = 32
  /// Write Commands on their way to the controller: the windows of four apps (`Limits` of
  /// CoreBluetooth), and more than any controller's buffers.
  static let commandsInFlightMax = 512
  /// Those of all programs; half of what a link's queue has room for.
  static let allCommandsInFlightMax = 1_024
  /// Services, characteristics of a service, or descriptors of a characteristic that a peer may
  /// show. The largest known profile has some forty.
  package static let foundMax = 1_000
  /// Everything remembered of one peer; a peer that shows more is asked again each time.
  static let rememberedMax = 2_000

  /// How long after a change of services the new hash is read: an app that now discovers again is
  /// not made to wait for that.
  static let hashReadingDelay: TimeSpan = .seconds(1)

  // The server.
  /// Attributes of one host, which may serve all programs of a machine: those of one user, which get half of
  /// them at most, have 5,000 services of the usual three; far from the last handle.
  static let attributesMax = 32_000
  /// Partial writes that a peer may queue: a 512-byte value in the smallest pieces is 29.
  static let preparedWritesMax = 128
  /// Bytes that a peer may queue: eight values of the longest sort.
  static let preparedByteCountMax = 4_096
  /// Notifications of one client on their way to the controller over one link; more are refused, which is how a
  /// client learns to wait. All clients together may have twice as many.
  static let notificationsInFlightMax = 256
  /// Notifications on their way to the controller from which on a client that takes several values at once
  /// gets those that follow together: enough to keep the controller busy.
  static let singleNotificationsMax = 4
  /// Indications of one client that wait for their turn over one link, as many as notifications: each takes a round
  /// trip.
  static let waitingIndicationsMax = 256
}
