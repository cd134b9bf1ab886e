import BluetoothInterface
import Essentials
import Foundation
import HubWire
import JSONWire

/// The state of a hub, for people and scripts. Names are what programs and devices gave.
struct HubStatusText {
  private let status: HubWire.HubStatus
  private let path: String
  /// The programs' names by their connections.
  private let names: [UInt64: String]

  init(_ status: HubWire.HubStatus, path: String) {
    self.status = status
    self.path = path
    names = Dictionary(
      status.programs.map { ($0.connection, $0.app) }, uniquingKeysWith: { first, _ in first })
  }

  // MARK: For people

  private typealias Program = HubWire.HubStatus.Program
  private typealias Link = HubWire.HubStatus.Link

  /// The widest column of names.
  private static let nameColumnMax = 28

  /// The report in lines of at most `columns` columns.
  func lines(columns: Int, _ style: Style) -> [String] {
    var lines = head.map { style.dim(Fit.column($0.title, 10)) + fit($0.text, columns - 10) }
    lines += table(programs, columns, style)
    lines += table(links, columns, style)
    return lines
  }

  private func fit(_ text: String, _ columns: Int) -> String {
    Fit.truncated(Fit.safe(text), columns)
  }

  private var head: [(title: String, text: String)] {
    let counts = status.counts
    let radio = status.radio
    let radioParts = [
      radio.name, StatusReport.text(radio.state), radio.address,
      radio.isSimulated ? "simulated" : nil,
    ]
    var lines = [
      (
        "hub",
        "\(path), version \(status.version), process \(status.processID), for "
          + Self.text(status.uptime)
      ),
      ("radio", Self.list(radioParts)),
    ]
    if let problem = radio.problem { lines.append(("problem", problem)) }
    lines.append(("programs", Self.total(status.programs.count, counts.otherProgramCount)))
    lines.append(("links", Self.total(status.links.count, counts.otherLinkCount)))
    lines.append(
      (
        "refused",
        Self.counts([
          (counts.refusedCount, "connection"), (counts.limitedRequestCount, "request"),
        ])
      ))
    lines.append(
      (
        "dropped",
        Self.counts([
          (counts.droppedValueCount, "value"), (counts.droppedReportCount, "advertising report"),
          (counts.expiredRequestCount, "unanswered request"),
        ])
      ))
    return lines
  }

  private var programs: [[String]] {
    guard !status.programs.isEmpty else { return [] }
    let rows = status.programs.map { program in
      [
        program.app, "\(program.processID)", "\(program.userID)", Self.text(program.age),
        program.lastUse.map(Self.text) ?? "–", Self.holdings(of: program),
        Self.waits(of: program),
      ]
    }
    return [["PROGRAM", "PROCESS", "USER", "FOR", "USED RADIO", "HOLDS", "WAITS FOR"]] + rows
  }

  private static func text(_ use: RadioUse) -> String {
    return "\(use.reason.rawValue), \(text(use.age)) ago"
  }

  private static func holdings(of program: Program) -> String {
    counts([
      (program.sessionCount, "session"), (program.scanCount, "scan"),
      (program.advertisementCount, "advertisement"), (program.linkCount, "link"),
      (program.subscriptionCount, "subscription"), (program.serviceCount, "service"),
      (program.listenerCount, "PSM"), (program.channelCount, "channel"),
    ])
  }

  private static func waits(of program: Program) -> String {
    let waiting = [
      count(program.requestCount, "request"), count(program.waitingByteCount, "byte"),
      count(program.unhandledEventCount, "event"),
      program.droppedCount > 0 ? "\(program.droppedCount) dropped" : nil,
      program.lateCount > 0 ? "late" : nil, program.isHeldBack ? "held back" : nil,
      program.keptFor > .zero ? "kept, \(Int(program.keptFor.seconds.rounded(.up))) s left" : nil,
    ]
    let text = list(waiting)
    return text.isEmpty ? "nothing" : text
  }

  private var links: [[String]] {
    guard !status.links.isEmpty else { return [] }
    let rows = status.links.map { link in
      let users = link.users.map { names[$0] ?? "connection \($0)" }
      let others = link.userCount > users.count ? "\(link.userCount - users.count) more" : nil
      let usage = Self.list(users + [others])
      let state = Self.list([
        link.stage, link.isEncrypted ? "encrypted" : nil, link.isHeldBack ? "held back" : nil,
        Self.count(link.queuedByteCount, "byte"), Self.count(link.operationCount, "operation"),
      ])
      return [
        link.name ?? "–", link.peer, link.role?.rawValue ?? "–", state,
        usage.isEmpty ? "nobody" : usage,
      ]
    }
    return [["PEER", "ADDRESS", "ROLE", "STATE", "USED BY"]] + rows
  }

  /// Rows in columns; the last column takes the rest of the line. The first row is the header.
  private func table(_ rows: [[String]], _ columns: Int, _ style: Style) -> [String] {
    guard let header = rows.first else { return [] }
    let safe = rows.map { $0.map(Fit.safe) }
    let widths = header.indices.map { column in
      min(Self.nameColumnMax, safe.map { Fit.width($0[column]) }.max() ?? 0)
    }
    let lines = safe.map { row in
      var line = ""
      for (cell, width) in zip(row.dropLast(), widths) { line += Fit.column(cell, width) + "  " }
      return Fit.truncated(line + (row.last ?? ""), columns)
    }
    return [""] + [style.dim(lines[0])] + lines.dropFirst()
  }

  private static func total(_ count: Int, _ otherCount: Int) -> String {
    otherCount > 0 ? "\(count), and \(otherCount) that are not listed" : "\(count)"
  }

  private static func counts(_ counts: [(Int, String)]) -> String {
    let text = list(counts.map { count($0.0, $0.1) })
    return text.isEmpty ? "nothing" : text
  }

  private static func count(_ count: Int, _ thing: String) -> String? {
    count > 0 ? "\(count) \(thing)\(count == 1 ? "" : "s")" : nil
  }

  private static func list(_ parts: [String?]) -> String {
    parts.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ", ")
  }

  /// A span of time in the two largest units.
  static func text(_ span: TimeSpan) -> String {
    let seconds = Int(max(0, span.seconds))
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400)
    if days > 0 { return "\(days) d \(hours % 24) h" }
    if hours > 0 { return "\(hours) h \(minutes % 60) min" }
    return minutes > 0 ? "\(minutes) min \(seconds % 60) s" : "\(seconds) s"
  }

  // MARK: For scripts

  /// The object that `--json` writes.
  func json(at date: Date) -> JSON {
    let counts = status.counts
    return .object([
      "event": .string("hubStatus"), "time": .time(date), "socket": .string(path),
      "version": .string(status.version), "process": Self.json(status.processID),
      "uptime": .number(status.uptime.seconds), "radio": .string(status.radio.name),
      "state": .string(status.radio.state.rawValue),
      "address": status.radio.address.map { .string($0) },
      "problem": status.radio.problem.map { .string($0) },
      "isSimulated": .bool(status.radio.isSimulated),
      "programs": .array(status.programs.map(Self.json)),
      "links": .array(status.links.map(Self.json)),
      "connectionCount": Self.json(counts.connectionCount),
      "otherProgramCount": Self.json(counts.otherProgramCount),
      "otherLinkCount": Self.json(counts.otherLinkCount),
      "refusedCount": Self.json(counts.refusedCount),
      "limitedRequestCount": Self.json(counts.limitedRequestCount),
      "droppedValueCount": Self.json(counts.droppedValueCount),
      "droppedReportCount": Self.json(counts.droppedReportCount),
      "expiredRequestCount": Self.json(counts.expiredRequestCount),
    ])
  }

  private static func json(_ program: Program) -> JSON {
    .object([
      "connection": .integer(Int64(clamping: program.connection)), "app": .string(program.app),
      "process": json(program.processID), "user": json(Int(program.userID)),
      "age": .number(program.age.seconds), "sessionCount": json(program.sessionCount),
      "scanCount": json(program.scanCount),
      "advertisementCount": json(program.advertisementCount),
      "linkCount": json(program.linkCount),
      "subscriptionCount": json(program.subscriptionCount),
      "serviceCount": json(program.serviceCount), "psmCount": json(program.listenerCount),
      "channelCount": json(program.channelCount), "requestCount": json(program.requestCount),
      "waitingByteCount": json(program.waitingByteCount),
      "unhandledEventCount": json(program.unhandledEventCount),
      "droppedCount": json(program.droppedCount), "lateCount": json(program.lateCount),
      "isHeldBack": .bool(program.isHeldBack), "keptFor": .number(program.keptFor.seconds),
      "radioUse": program.lastUse.map { .string($0.reason.rawValue) },
      "radioUseAge": program.lastUse.map { .number($0.age.seconds) },
    ])
  }

  private static func json(_ link: Link) -> JSON {
    .object([
      "peer": .string(link.peer), "name": link.name.map { .string($0) },
      "role": link.role.map { .string($0.rawValue) }, "stage": .string(link.stage),
      "isEncrypted": .bool(link.isEncrypted), "isHeldBack": .bool(link.isHeldBack),
      "queuedByteCount": json(link.queuedByteCount),
      "pendingOperationCount": json(link.operationCount),
      "users": .array(link.users.map { .integer(Int64(clamping: $0)) }),
      "userCount": json(link.userCount),
    ])
  }

  private static func json(_ count: Int) -> JSON { .integer(Int64(count)) }
}
