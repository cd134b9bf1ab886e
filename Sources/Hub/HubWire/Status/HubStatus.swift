package import BluetoothInterface
package import Essentials

/// The state of a hub: its radio, the programs that it serves, and the links of its host.
///
/// It is for people and scripts, and rare, so it is a copy of everything. It has no values of characteristics,
/// no keys and no advertising data. Its lists and texts are bounded, and ``cut()`` removes and counts what has no room
/// in a message.
package struct HubStatus: Hashable, Sendable {
  /// The maximum number of programs: as many as a hub serves.
  package static let programCountMax = 1 << 12
  /// The maximum number of links: more than controllers have.
  package static let linkCountMax = 1 << 10
  /// The maximum number of the users of a link that are listed.
  package static let userCountMax = 1 << 5
  /// The maximum number of programs of Multicast DNS.
  package static let networkProgramCountMax = 1 << 12
  /// The maximum length of a name in bytes. Longer ones are cut.
  package static let nameByteCountMax = 1 << 7

  /// The version of the hub's program.
  package var version: String
  /// The number of the hub's process.
  package var processID: Int
  /// How long the hub has served.
  package var uptime: TimeSpan
  /// The hub's radio.
  package var radio: Radio
  /// Numbers of the whole hub.
  package var counts: Counts
  /// The programs, in the order in which they connected. The one with the question is not listed.
  package var programs: [Program]
  /// The links of the host, and the requests for links.
  package var links: [Link]
  /// The programs that use the hub's Multicast DNS, in the order in which they connected. An earlier hub doesn't
  /// report them.
  package var networkPrograms: [NetworkProgram]
  /// The reason why the hub runs no Multicast DNS although no option leaves it out, as a sentence with the command
  /// that mends it; nil without such a reason, and from an earlier hub.
  package var networkProblem: String?
  /// Where the hub's radio keeps its bonds, for root and the hub's user; nil for others, where it keeps none itself, and
  /// from an earlier hub.
  package var bondFile: BondFile?

  package init(
    version: String, processID: Int, uptime: TimeSpan, radio: Radio, counts: Counts = Counts(),
    programs: [Program] = [], links: [Link] = [], networkPrograms: [NetworkProgram] = [],
    networkProblem: String? = nil, bondFile: BondFile? = nil
  ) {
    self.version = version
    self.processID = processID
    self.uptime = uptime
    self.radio = radio
    self.counts = counts
    self.programs = programs
    self.links = links
    self.networkPrograms = networkPrograms
    self.networkProblem = networkProblem
    self.bondFile = bondFile
  }

  /// The file of a hub's bonds.
  package struct BondFile: Hashable, Sendable {
    /// The path, which is absolute where the hub was given an absolute one.
    package var path: String
    /// The reason why bonds are not kept for later runs, in a sentence; nil while they are.
    package var problem: String?
    /// How many bonds the hub has, also those that are not in the file.
    package var bondCount: Int

    package init(path: String, problem: String? = nil, bondCount: Int = 0) {
      self.path = path
      self.problem = problem
      self.bondCount = bondCount
    }
  }

  /// The hub's radio.
  package struct Radio: Hashable, Sendable {
    /// The radio as `--radio` takes it.
    package var name: String
    package var state: RadioState
    /// The address that the hub's host uses; nil while the controller is not started.
    package var address: String?
    /// The reason why the radio doesn't work, as a sentence; nil if no problem is known.
    package var problem: String?
    package var isSimulated: Bool

    package init(
      name: String, state: RadioState, address: String? = nil, problem: String? = nil,
      isSimulated: Bool
    ) {
      self.name = name
      self.state = state
      self.address = address
      self.problem = problem
      self.isSimulated = isSimulated
    }
  }

  /// Numbers of the whole hub.
  package struct Counts: Hashable, Sendable {
    /// Connections, with or without a greeting, besides that of the question.
    package var connectionCount = 0
    /// Programs that are not listed, because there are too many, or because they belong to another user.
    package var otherProgramCount = 0
    /// Links that are not listed, for the same reasons.
    package var otherLinkCount = 0
    /// Connections that were refused, or ended for a reason of the hub.
    package var refusedCount = 0
    /// Requests beyond a limit.
    package var limitedRequestCount = 0
    /// Values and writes without response that slow programs missed.
    package var droppedValueCount = 0
    /// Advertising reports that slow programs missed.
    package var droppedReportCount = 0
    /// Requests of peers that no program answered in time.
    package var expiredRequestCount = 0
    /// What the hub has refused otherwise. An earlier hub doesn't report it.
    package var refusals = Refusals()

    package init() {}
  }

  /// What the hub has refused besides connections to its radio and requests of these.
  package struct Refusals: Hashable, Sendable {
    /// Sessions whose program requested to keep them for longer than it may.
    package var shortenedKeepingCount = 0
    /// Sessions that were to be kept, and were closed with their program for lack of room.
    package var unkeptSessionCount = 0
    /// Connections with the hub's Multicast DNS that were refused, or ended for a reason of the hub.
    package var networkConnectionCount = 0
    /// Services, records, queries and reconfirmations of Multicast DNS beyond a limit or quota.
    package var networkRequestCount = 0
    /// Programs of Multicast DNS that are not listed.
    package var otherNetworkProgramCount = 0
    /// How often the hub had no descriptor or memory for connections, which waited then. An earlier hub doesn't
    /// report it.
    package var descriptorShortageCount = 0

    package init() {}
  }

  /// A program, and what it holds and waits for.
  package struct Program: Hashable, Sendable {
    /// Identifies the connection, while the hub runs.
    package var connection: UInt64
    /// The name that the program gave.
    package var app: String
    package var processID: Int
    package var userID: UInt32
    /// How long it has been served.
    package var age: TimeSpan
    package var sessionCount = 0
    /// How many of the sessions scan.
    package var scanCount = 0
    /// How many of the sessions advertise.
    package var advertisementCount = 0
    /// The number of peers that it is connected to, or waits for.
    package var linkCount = 0
    package var subscriptionCount = 0
    package var serviceCount = 0
    /// The number of PSMs that it listens on.
    package var listenerCount = 0
    package var channelCount = 0
    /// Requests that are not completed.
    package var requestCount = 0
    /// Bytes that wait for it.
    package var waitingByteCount = 0
    /// Events that it has not acknowledged.
    package var unhandledEventCount = 0
    /// Values, writes and requests of peers that it missed because it was too slow, in its open sessions.
    package var droppedCount = 0
    /// How many of the sessions have not handled their events in time, so that nothing waits for them.
    package var lateCount = 0
    /// Whether its requests are not read for now, since too much waits for it.
    package var isHeldBack = false
    /// How long the hub still keeps a session whose program has ended; zero for a program that is connected. The
    /// age is then that of the keeping.
    package var keptFor = TimeSpan.zero
    /// Why and when it last made the radio work; nil if it didn't, or the hub is of an earlier version.
    package var lastUse: RadioUse?
    /// The unit of systemd that it belongs to; nil if it belongs to none, or none is known.
    package var unit: String?

    package init(
      connection: UInt64, app: String, processID: Int, userID: UInt32, age: TimeSpan
    ) {
      self.connection = connection
      self.app = app
      self.processID = processID
      self.userID = userID
      self.age = age
    }
  }

  /// A link, or a peer that programs wait for.
  package struct Link: Hashable, Sendable {
    /// The address of the peer.
    package var peer: String
    /// The name of the peer, once it was read.
    package var name: String?
    /// The role of the hub's host; nil without a link.
    package var role: LinkInfo.Role?
    /// How far the link is: `pending`, `unconfirmed`, `open`, `flushing`, `closing` or `cancelling`.
    package var stage: String
    package var isEncrypted = false
    /// Whether flow control stops the peer, because a program handles its events too slowly.
    package var isHeldBack = false
    /// Bytes that wait for buffers of the controller.
    package var queuedByteCount = 0
    /// GATT operations that are not finished.
    package var operationCount = 0
    /// The connections of the programs that use it, or wait for it, in ascending order.
    package var users: [UInt64]
    /// The number of these programs; some may not be listed.
    package var userCount: Int

    package init(
      peer: String, name: String? = nil, role: LinkInfo.Role? = nil, stage: String,
      users: [UInt64] = []
    ) {
      self.peer = peer
      self.name = name
      self.role = role
      self.stage = stage
      self.users = users
      userCount = users.count
    }
  }

  /// A program that uses the hub's Multicast DNS, on a connection of its own.
  package struct NetworkProgram: Hashable, Sendable {
    /// The number of its process; 0 for one in another namespace of processes.
    package var processID: Int
    package var userID: UInt32
    /// The name of its process, which it may choose; empty if it isn't known.
    package var name: String
    /// The number of its services.
    package var serviceCount = 0
    /// The number of other records that it has registered.
    package var recordCount = 0
    /// The number of its queries for services of a type.
    package var browserCount = 0
    /// The number of its other queries.
    package var queryCount = 0
    /// Bytes that wait for it.
    package var waitingByteCount = 0

    package init(processID: Int, userID: UInt32, name: String = "") {
      self.processID = processID
      self.userID = userID
      self.name = name
    }
  }
}
