package import Essentials
package import HubWire

/// What the host knows for a report of the hub's state; the machine knows the rest.
package struct HubHostStatus: Sendable {
  /// What the host does for a session of a program.
  package struct Session: Hashable, Sendable {
    package var isScanning = false
    package var isAdvertising = false
    /// Whether it has not handled its events in time.
    package var isLate = false
    package var subscriptionCount = 0
    package var channelCount = 0

    package init() {}
  }

  /// A link, or a peer that sessions wait for.
  package struct Link: Hashable, Sendable {
    /// The link without its users.
    package var link: HubStatus.Link
    /// The sessions that use it, or wait for it.
    package var users: [HubSessionKey]

    package init(_ link: HubStatus.Link, users: [HubSessionKey]) {
      self.link = link
      self.users = users
    }
  }

  /// The version of the hub's program.
  package var version: String
  /// The number of the hub's process.
  package var processID: Int
  package var uptime: TimeSpan
  package var radio: HubStatus.Radio
  package var sessions: [HubSessionKey: Session] = [:]
  package var links: [Link] = []
  package var droppedValueCount = 0
  package var droppedReportCount = 0
  package var expiredRequestCount = 0
  /// How often the hub's process had no descriptor or memory for connections.
  package var descriptorShortageCount = 0
  /// What the hub's Multicast DNS does; nil without it.
  package var network: HubNetworkStatus?
  /// The reason why it has none although no option leaves it out, as a sentence.
  package var networkProblem: String?
  /// Where the hub's radio keeps its bonds; nil where it keeps none itself.
  package var bondFile: HubStatus.BondFile?

  package init(version: String, processID: Int, uptime: TimeSpan, radio: HubStatus.Radio) {
    self.version = version
    self.processID = processID
    self.uptime = uptime
    self.radio = radio
  }
}
