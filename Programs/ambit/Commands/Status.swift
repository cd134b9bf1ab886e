import ArgumentParser
import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Foundation
import JSONWire

/// Shows the state of a radio and of the host on it.
struct Status: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the state of the radio, and of the host that this command starts on it.",
    discussion: """
      Shows whether a hub is used, the controller and its features, links, queues, and counters of \
      drops; of a hub's radio, its state and links. A radio that does not work is shown, too; the exit \
      status is then 69, or 77 if it may not be used. In "ambit shell", the command status shows the \
      same of the session's host.

      EXAMPLES:
        ambit status
        ambit status --radio hci0 --json
      """)

  @OptionGroup var options: GlobalOptions

  func run(_ session: Session) async throws {
    let failure: CommandFailure?
    do {
      _ = try await session.central()
      failure = nil
    } catch let error as CommandFailure {
      failure = error
    }
    try await StatusReport(session, problem: failure?.sentence).write()
    if let failure { throw failure }
  }
}

/// Prints the state of a host's machines.
struct StatusReport {
  private let session: Session
  private let problem: String?

  /// - Parameters:
  ///   - session: Whose host is shown, and where.
  ///   - problem: Why the radio does not work; nil if it does.
  init(_ session: Session, problem: String? = nil) {
    self.session = session
    self.problem = problem ?? session.host.problem
  }

  func write() async throws {
    switch session.host {
    case .own(let host): try await write(host)
    case .hub(_, let path):
      await SharedRadioStatus(session, hub: path, problem: problem).write()
    case .bluez:
      let hub = Self.text(reasonForNoHub: session.reasonForNoHub)
      await SharedRadioStatus(session, hub: hub, problem: problem).write()
    }
  }

  private func write(_ host: BluetoothHost) async throws {
    let snapshot = await host.snapshot()
    if session.output.isJSON { return session.output.object(try json(snapshot, host)) }
    var lines = Self.lines(
      snapshot, radio: session.radioTitle, hub: Self.text(reasonForNoHub: session.reasonForNoHub),
      problem: problem)
    if let failure = host.bondFailure {
      let count = host.unwrittenBondCount
      lines.append(("bond file", "\(failure) \(Self.plural(count, "change")) not written."))
    }
    Self.write(lines, session.output)
  }

  /// Prints lines, each with its title.
  static func write(_ lines: [Line], _ output: Output) {
    for (title, text) in lines {
      output.line(output.style.dim(Fit.column(title, 12)) + Fit.safe(text))
    }
  }

  /// A text for the case that no hub is used.
  private static func text(reasonForNoHub reason: String?) -> String {
    reason.map { "none: \($0)" } ?? "none"
  }

  private func json(_ snapshot: HostSnapshot, _ host: BluetoothHost) throws -> JSON {
    let head = JSON.object([
      "event": .string("status"), "time": .time(Date()),
      "radio": .string(session.host.radioText), "title": .string(session.host.title),
      "hub": .null,
      "problem": problem.map { .string($0) },
      "bondProblem": host.bondFailure.map { .string($0.description) },
      "unwrittenBondCount": .integer(Int64(host.unwrittenBondCount)),
    ])
    guard case .object(let members) = try JSON(encoding: snapshot) else { return head }
    return head.adding(members)
  }

  // MARK: For people

  typealias Line = (title: String, text: String)

  /// The lines of the report, each with its title.
  static func lines(
    _ snapshot: HostSnapshot, radio: String, hub: String, problem: String?
  ) -> [Line] {
    let controller = snapshot.controller
    var lines: [Line] = [("radio", radio), ("hub", hub), ("state", text(controller.state))]
    if let problem { lines.append(("problem", problem)) }
    if controller.failureCount > 0 { lines.append(("failures", "\(controller.failureCount)")) }
    if let address = controller.address {
      lines.append(("address", address))
      lines.append(("controller", maker(controller)))
      lines.append(("features", features(controller)))
      lines.append(("buffers", buffers(controller)))
    }
    lines += links(snapshot)
    lines.append(("clients", clients(snapshot)))
    lines.append(("dropped", dropped(snapshot.counters)))
    return lines
  }

  /// The state of a radio in a few words.
  static func text(_ state: RadioState) -> String {
    switch state {
    case .unknown: "unknown"
    case .resetting: "being restarted"
    case .unsupported: "does not support Bluetooth LE"
    case .unauthorized: "may not be used"
    case .poweredOff: "off or unplugged"
    case .poweredOn: "powered on"
    }
  }

  private static func maker(_ controller: HostSnapshot.Controller) -> String {
    let version = controller.hciVersion.map { version in
      "Bluetooth \(AssignedNumbers.coreVersion(version) ?? "of HCI version \(version)")"
    }
    let company = controller.company.map { company in
      AssignedNumbers.companyName(company) ?? "company 0x" + String(company, radix: 16)
    }
    let parts = [version, company].compactMap(\.self)
    return parts.isEmpty ? "unknown version and manufacturer" : parts.joined(separator: ", ")
  }

  private static func features(_ controller: HostSnapshot.Controller) -> String {
    [
      controller.usesExtendedCommands ? "extended advertising" : "legacy advertising",
      plural(controller.advertisingSetCount, "set") + " of "
        + plural(controller.advertisingDataLength, "byte"),
      controller.supports2M ? "2M PHY" : "1M PHY only",
      "packets of \(controller.linkPacketLength) bytes",
      "accept list of \(controller.acceptListCapacity)",
      resolvingList(controller),
      controller.usesHostFlowControl ? "flow control to the host" : nil,
    ].compactMap(\.self).joined(separator: ", ")
  }

  private static func resolvingList(_ controller: HostSnapshot.Controller) -> String? {
    guard controller.resolvingListCapacity > 0 else { return nil }
    return "resolving list of \(controller.resolvingListCapacity), "
      + "\(controller.resolvedPeerCount) in use"
  }

  private static func buffers(_ controller: HostSnapshot.Controller) -> String {
    "\(controller.aclBuffersInUse) of \(controller.aclBufferCount) in use, "
      + "\(controller.aclPacketLength) bytes each; "
      + plural(controller.waitingCommandCount, "command") + " waiting"
  }

  private static func links(_ snapshot: HostSnapshot) -> [Line] {
    var lines: [Line] = snapshot.links.map { ("link", text($0)) }
    for request in snapshot.linkRequests {
      lines.append(("link", "\(request.peer), \(request.state.rawValue)"))
    }
    if lines.isEmpty { lines.append(("links", "none")) }
    if snapshot.bondCount + snapshot.pairingCount + snapshot.failedPairingCount > 0 {
      lines.append(
        (
          "bonds",
          "\(snapshot.bondCount); " + plural(snapshot.pairingCount, "pairing")
            + ", \(snapshot.failedPairingCount) failed"
        ))
    }
    if snapshot.orphanedLinkCount > 0 {
      lines.append(("orphans", plural(snapshot.orphanedLinkCount, "link") + " given up"))
    }
    if !snapshot.channels.isEmpty {
      lines.append(("channels", "\(snapshot.channels.count)"))
    }
    if !snapshot.publishedPSMs.isEmpty {
      let numbers = snapshot.publishedPSMs.map { "0x" + String($0, radix: 16) }
      lines.append(("listening", "PSM " + numbers.joined(separator: ", ")))
    }
    return lines
  }

  private static func text(_ link: HostSnapshot.Link) -> String {
    let interval = Double(link.intervalMicroseconds) / 1000
    let parts: [String?] = [
      link.name.map { "\($0) (\(link.peer))" } ?? link.peer,
      "\(link.role)", link.stage.rawValue, link.encryption.map(text),
      "MTU \(link.mtu)",
      link.enhancedBearerCount > 0 ? plural(link.enhancedBearerCount, "enhanced bearer") : nil,
      "every \(interval) ms",
      link.subrateFactor > 1 ? "one event of \(link.subrateFactor)" : nil,
      phys(link), "\(link.sentPacketByteCountMax)-byte packets",
      link.latency > 0 ? "latency \(link.latency)" : nil,
      "timeout \(link.timeoutMilliseconds) ms",
      plural(link.queuedByteCount, "byte") + " queued",
      plural(link.pendingOperationCount, "operation") + " pending",
      link.subscriptions.isEmpty ? nil : plural(link.subscriptions.count, "subscription"),
      link.peerSubscriptionCount == 0
        ? nil : plural(link.peerSubscriptionCount, "subscription") + " of the peer",
      link.isHeldBack ? "held back" : nil,
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  private static func phys(_ link: HostSnapshot.Link) -> String {
    link.transmitPHY == link.receivePHY
      ? link.transmitPHY : "\(link.transmitPHY) out, \(link.receivePHY) in"
  }

  static func text(_ encryption: EncryptionInfo) -> String {
    encryption.isAuthenticated ? "encrypted and authenticated" : "encrypted"
  }

  private static func clients(_ snapshot: HostSnapshot) -> String {
    [
      "\(snapshot.clients.count)", "\(snapshot.scans.count) scanning",
      "\(snapshot.advertisements.count) advertising",
      plural(snapshot.advertiserCount, "advertiser") + " and "
        + plural(snapshot.rememberedPeerCount, "peer") + " remembered",
      plural(snapshot.pendingUpdateCount, "value") + " to be sent",
      snapshot.lateClients.isEmpty ? nil : "\(snapshot.lateClients.count) late",
    ].compactMap(\.self).joined(separator: ", ")
  }

  static func dropped(_ counters: HostSnapshot.Counters) -> String {
    let counts = [
      (counters.malformedPackets, "malformed packet"), (counters.strayPackets, "stray packet"),
      (counters.unprovenLinks, "link with a bonded peer's address"),
      (counters.unkeptBonds, "bond"), (counters.evictedBonds, "unused bond"),
      (counters.strayAnswers, "stray answer"),
      (counters.bogusCompletions, "completion without a sent packet"),
      (counters.droppedFrames, "L2CAP frame"), (counters.pointlessSignals, "L2CAP signal"),
      (counters.ignoredPDUs, "attribute PDU"), (counters.unsolicitedValues, "unsolicited value"),
      (counters.droppedValues, "value"), (counters.droppedReports, "advertising report"),
      (counters.expiredRequests, "unanswered request"),
    ]
    let texts = counts.filter { $0.0 > 0 }.map { plural($0.0, $0.1) }
    return texts.isEmpty ? "nothing" : texts.joined(separator: ", ")
  }

  private static func plural(_ count: Int, _ thing: String) -> String {
    "\(count) \(thing)\(count == 1 ? "" : "s")"
  }
}
