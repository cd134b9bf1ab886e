package import Essentials
import HubWire

/// How much a program, a user and all of them may cost the hub.
///
/// Programs within these limits don't notice them. What one program is refused, others don't lose: each
/// limit of a user is a multiple of that of a program.
package struct HubLimits: Sendable {
  /// The maximum number of connections of all users.
  package var connectionCountMax = 4_096
  /// The maximum number of connections of one user.
  package var connectionCountPerUserMax = 2_048
  /// The maximum number of connections of one process. Processes of other PID namespaces, such as containers,
  /// can't be told apart, so they are bounded by their user only.
  package var connectionCountPerProcessMax = 32
  /// The maximum number of open sessions of a connection: as many as a greeting opens.
  package var sessionCountMax = 1_024
  /// The maximum number of open sessions of one user.
  package var sessionCountPerUserMax = 8_192

  /// The maximum number of programs of one user that wait for an answer about the hub's state. One is answered
  /// every 50 ms, and they wait for 5 s at most. Others are refused.
  package var statusQuestionCountPerUserMax = 64
  /// The maximum number of requests to forget kept sessions of one user's programs in an interval of reports. A
  /// connection with one more ends. A script that starts a command for each app has fewer.
  package var forgettingCountPerUserMax = 256

  /// The time that a program has to send its greeting.
  package var greetingTime = TimeSpan.seconds(5)
  /// How long virtual time waits for a program that does not answer.
  package var settlingTime = TimeSpan.seconds(10)
  /// How many times virtual time waits for a program at one point of time. A `VirtualRadio` has as many rounds then.
  package var settlingCountMax = 10_000
  /// How many timers of a program may wait for a virtual time that has passed, within a millisecond of that time. A
  /// client of this package reports none.
  package var pastWakeCountMax = 100
  /// The interval at which refusals are reported; those in between are counted.
  package var reportSpacing = TimeSpan.seconds(1)
  /// The maximum number of new programs that are reported in this interval. Others follow if they are still
  /// there then, and are counted if they are not.
  package var openingReportCountMax = 32

  /// The maximum number of bytes that wait for a program. A host keeps 8,192 unhandled reports of
  /// advertising, which take 14 MB at most, and 1,024 other events for each link.
  package var waitingByteCountMax = 16 << 20
  /// The maximum number of bytes that wait for all programs of one user. Beyond, the program with the most
  /// loses its connection.
  package var waitingByteCountPerUserMax = 64 << 20
  /// With more bytes waiting for a program, its requests are not read, because the answers would wait,
  /// too.
  package var waitingByteCountHigh = 1 << 20
  /// The number of waiting bytes at which its requests are read again.
  package var waitingByteCountLow = 256 << 10
  /// The maximum number of bytes of incomplete messages of one user.
  package var incompleteByteCountPerUserMax = 16 << 20

  /// The maximum number of requests of a connection that are not completed.
  package var requestCountMax = 16_384
  /// The maximum size of requests of a connection that are not completed.
  package var requestByteCountMax = 8 << 20
  /// The maximum number of requests of one user that are not completed.
  package var requestCountPerUserMax = 65_536
  /// The maximum size of requests of one user that are not completed.
  package var requestByteCountPerUserMax = 32 << 20
  /// The maximum number of peers that a connection wants links with.
  package var linkCountMax = 1_024
  /// The maximum number of scans of a connection: one of each session.
  package var scanCountMax = 1_024
  /// The maximum number of advertisements of a connection: one of each session.
  package var advertisementCountMax = 1_024
  /// The maximum number of published services of a connection.
  package var serviceCountMax = 1_024
  /// The maximum size of published services of a connection.
  package var serviceByteCountMax = 4 << 20
  /// The maximum number of attributes of a connection's services.
  package var attributeCountMax = 4_096
  /// The maximum number of PSMs on which a connection listens.
  package var listenerCountMax = 32
  /// The maximum number of requests of a connection for which the controller gets a command, and that are not
  /// completed.
  package var commandCountMax = 128

  // What the host has for all programs. The programs of a user get at most half of what other users' programs
  // leave, so that other users find room.
  /// The host's attributes.
  package var attributePool = 32_000
  /// The peers that the host connects to.
  package var linkPool = 4_096
  /// The PSMs that the host chooses from.
  package var listenerPool = 128
  /// The commands for the controller that wait in the host.
  package var commandPool = 1_024

  /// The maximum size of a request that has no token and so no answer, such as a scan with its filter.
  package var plainRequestByteCountMax = HubProtocol.plainRequestByteCountMax
  /// The maximum number of elements of a list in a procedure on a peer's server: handles, values or UUIDs. The
  /// longest request of the attribute protocol has room for 258 handles.
  package var procedureListCountMax = 256
  /// The maximum number of peers that a value is sent to by their addresses: as many as there can be links.
  package var recipientCountMax = 0xF00
  /// The maximum number of completions by the hub itself that a connection has not handled.
  package var ownCompletionCountMax = 16_384
  /// The maximum number of these of all programs of one user. Beyond, the program with the most loses its
  /// connection.
  package var ownCompletionCountPerUserMax = 262_144

  /// How long a session is kept at most whose program has ended.
  package var keptTimeMax = TimeSpan.seconds(86_400)
  /// The maximum number of kept sessions of one user. With the next two limits, their events take 16 MiB.
  package var keptSessionCountPerUserMax = 256
  /// The maximum number of events that a kept session has. Beyond, the oldest ones are given up and counted.
  package var keptEventCountMax = 512
  /// The maximum number of bytes of these events.
  package var keptEventByteCountMax = 64 << 10
  /// The maximum number of peers whose advertising a kept session has: its last report of each.
  package var keptReportCountMax = 64

  /// Creates limits for about 1,000 programs of one user.
  package init() {}
}
