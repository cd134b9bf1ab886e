import BluetoothInterface
package import Essentials
package import HubWire

/// The state of a hub in words, for the terminal and for the page.
package enum HubWords {
  package typealias Status = HubWire.HubStatus

  /// What a program holds, such as "1 session, 2 scans".
  package static func holdings(of program: Status.Program) -> String {
    counts([
      (program.sessionCount, "session"), (program.scanCount, "scan"),
      (program.advertisementCount, "advertisement"), (program.linkCount, "link"),
      (program.subscriptionCount, "subscription"), (program.serviceCount, "service"),
      (program.listenerCount, "PSM"), (program.channelCount, "channel"),
    ])
  }

  /// What a program has in the hub's Multicast DNS, and what waits for it.
  package static func holdings(of program: Status.NetworkProgram) -> String {
    counts([
      (program.serviceCount, "service"), (program.recordCount, "record"),
      (program.browserCount, "browser"), (program.queryCount, "other query"),
      (program.waitingByteCount, "waiting byte"),
    ])
  }

  /// The name of a program of Multicast DNS: the one that its process gave the hub's radio, or else that of the
  /// process.
  package static func name(
    of program: Status.NetworkProgram, among programs: [Status.Program]
  ) -> String {
    let same = programs.first { $0.processID == program.processID && program.processID > 0 }
    return same?.app ?? (program.name.isEmpty ? "–" : program.name)
  }

  /// What a program waits for, and what it has missed.
  package static func waits(of program: Status.Program) -> String {
    let waiting = [
      count(program.requestCount, "request"), count(program.waitingByteCount, "byte"),
      count(waitingEventCount(of: program), "event"),
      program.droppedCount > 0 ? "\(program.droppedCount) dropped" : nil,
      count(program.lateCount, "late session"),
      program.isHeldBack ? "requests not read" : nil,
      program.keptFor > .zero ? "kept, \(Int(program.keptFor.seconds.rounded(.up))) s left" : nil,
    ]
    let text = list(waiting)
    return text.isEmpty ? "nothing" : text
  }

  /// The events of a program that wait. Fewer than a session acknowledges at once are no sign of that: Core
  /// Bluetooth's library acknowledges 64 together.
  package static func waitingEventCount(of program: Status.Program) -> Int {
    let isUsual = program.unhandledEventCount < program.sessionCount * 64
    return isUsual && program.keptFor == .zero ? 0 : program.unhandledEventCount
  }

  /// The process, the user and the unit of a program.
  package static func owner(_ processID: Int, _ userID: UInt32, unit: String?) -> String {
    list(["process \(processID)", "user \(userID)", unit])
  }

  /// Why and when a program last made the radio work.
  package static func text(_ use: RadioUse) -> String {
    "\(use.reason.rawValue), \(text(use.age)) ago"
  }

  /// How far a link is, and what waits on it.
  package static func state(of link: Status.Link) -> String {
    list([
      link.stage, link.isEncrypted ? "encrypted" : nil, link.isHeldBack ? "peer slowed down" : nil,
      count(link.queuedByteCount, "byte"), count(link.operationCount, "operation"),
    ])
  }

  /// The programs that use a link, or wait for it.
  ///
  /// - Parameters:
  ///   - link: The link.
  ///   - names: The programs' names by their connections.
  package static func users(of link: Status.Link, _ names: [UInt64: String]) -> String {
    let users = link.users.map { names[$0] ?? "connection \($0)" }
    let others = count(link.userCount - users.count, "other program")
    let usage = list(users + [others])
    return usage.isEmpty ? "no program" : usage
  }

  /// Where a hub listens, its version, its process, and for how long it has run.
  package static func text(_ status: Status, at path: String) -> String {
    "\(path), version \(status.version), process \(status.processID), for \(text(status.uptime))"
  }

  /// The radio of a hub, and its state.
  package static func text(_ radio: Status.Radio) -> String {
    list([
      radio.name, StatusReport.text(radio.state), radio.address,
      radio.isSimulated ? "simulated" : nil,
    ])
  }

  /// What the hub has refused.
  package static func refused(_ counts: Status.Counts) -> String {
    self.counts([
      (counts.refusedCount, "connection"), (counts.limitedRequestCount, "request"),
      (counts.refusals.shortenedKeepingCount, "request of longer keeping"),
      (counts.refusals.unkeptSessionCount, "session of an ended program"),
      (counts.refusals.networkConnectionCount, "connection of Multicast DNS"),
      (counts.refusals.networkRequestCount, "request of Multicast DNS"),
      (counts.refusals.descriptorShortageCount, "shortage of descriptors"),
    ])
  }

  /// What slow programs have missed.
  package static func dropped(_ counts: Status.Counts) -> String {
    self.counts([
      (counts.droppedValueCount, "value"), (counts.droppedReportCount, "advertising report"),
      (counts.expiredRequestCount, "unanswered request"),
    ])
  }

  /// A number of entries, and of those that are not listed.
  package static func total(_ count: Int, _ otherCount: Int) -> String {
    otherCount > 0 ? "\(count), and \(otherCount) that are not listed" : "\(count)"
  }

  /// A span of time in the two largest units.
  package static func text(_ span: TimeSpan) -> String {
    let seconds = Int(max(0, span.seconds))
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400)
    if days > 0 { return "\(days) d \(hours % 24) h" }
    if hours > 0 { return "\(hours) h \(minutes % 60) min" }
    return minutes > 0 ? "\(minutes) min \(seconds % 60) s" : "\(seconds) s"
  }

  private static func counts(_ counts: [(Int, String)]) -> String {
    let text = list(counts.map { count($0.0, $0.1) })
    return text.isEmpty ? "nothing" : text
  }

  private static func count(_ count: Int, _ thing: String) -> String? {
    count > 0 ? "\(count) \(count == 1 ? thing : plural(of: thing))" : nil
  }

  /// The first word changes: "connections of Multicast DNS".
  private static func plural(of thing: String) -> String {
    if let end = thing.firstRange(of: " of ") {
      return plural(of: String(thing[..<end.lowerBound])) + thing[end.lowerBound...]
    }
    return thing.hasSuffix("query") ? thing.dropLast() + "ies" : thing + "s"
  }

  private static func list(_ parts: [String?]) -> String {
    parts.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ", ")
  }
}
