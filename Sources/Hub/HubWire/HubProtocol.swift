/// The protocol between apps and the hub of their machine.
///
/// Each side sends messages: a length, a kind, a body. A number (of a message, a request, an event, or of a
/// case of a value) never changes its meaning and is never used again. How the versions get on with each
/// other:
///
/// - A later version adds numbers, and adds fields behind the last one of a message, an event, a request or
///   another value that is `enclosed`. A reader skips what it finds behind the fields that it knows, and
///   takes a default for those that an older side didn't send. The message of events has none behind its last
///   one, as the list of events runs to the end of the message.
/// - A reader skips messages and events whose number it doesn't know, if the number is below
///   ``mustUnderstand``, and refuses the others by their number. Skipped events are reported, because they
///   count as events that are acknowledged.
/// - A request whose number is ``mustUnderstand`` or above has a token, which precedes its fields. A hub that
///   doesn't know the number, or a number within the fields, completes the request with an error.
///
/// docs/decisions/0189-the-hubs-messages.md has the reasons.
package enum HubProtocol {
  /// The versions that this module speaks. The hub chooses the highest one that the app speaks, too.
  package static let versions: ClosedRange<UInt16> = 1...1
  /// The bit in a number that a reader must understand: it can't go on, or answer, without.
  package static let mustUnderstand: UInt8 = 0x80

  /// The maximum length of a message in bytes, without its head: for the longest lists of services and
  /// descriptors that a peer can have, one for each of its 65,535 handles, with UUIDs of 128 bits.
  package static let messageByteCountMax = 1 << 21
  /// The maximum length of a greeting with all sessions and the longest names. A program without permission
  /// costs the hub no more.
  package static let greetingByteCountMax = 1 << 17
  /// The maximum number of events in a message. An event takes four bytes at least, and many more in memory.
  package static let eventCountMax = 1 << 12
  /// The maximum number of elements of a list: one for each attribute handle.
  package static let listCountMax = 1 << 16
  /// The maximum length of a text in bytes. Longer ones are cut, but the names of apps and managers are refused.
  package static let textByteCountMax = 1 << 10
  /// The maximum of a count, an offset or a length. Sums of many of them fit in an `Int`.
  package static let countMax = 1 << 31 - 1
  /// The maximum length of a request that has no token, and so no error to report: a hub ends the connection at
  /// a longer one.
  package static let plainRequestByteCountMax = 1 << 16
  /// The maximum number of services that a scan looks for, solicited ones included.
  package static let scanServiceCountMax = 1 << 8
  /// The highest token of a session that is kept, so that the next process has numbers for its own.
  package static let keptTokenMax = UInt64(1) << 48
  /// The maximum number of sessions that a greeting opens.
  package static let openingCountMax = 1 << 6
}
