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
    if let problem = status.networkProblem {
      // In full, as it has a command to copy.
      let texts = Fit.wrapped(Fit.safe(problem), columns - 10)
      for (title, text) in zip(["network"] + texts.dropFirst().map { _ in "" }, texts) {
        lines.append(style.dim(Fit.column(title, 10)) + text)
      }
    }
    lines += table(programs, columns, style)
    lines += table(links, columns, style)
    lines += table(networkPrograms, columns, style)
    return lines
  }

  private func fit(_ text: String, _ columns: Int) -> String {
    Fit.truncated(Fit.safe(text), columns)
  }

  private var head: [(title: String, text: String)] {
    let counts = status.counts
    var lines = [
      ("hub", HubWords.text(status, at: path)),
      ("radio", HubWords.text(status.radio)),
    ]
    if let problem = status.radio.problem { lines.append(("problem", problem)) }
    if let file = status.bondFile {
      let place = file.problem.map { "not kept: \($0)" } ?? "in \(file.path)"
      lines.append(("bonds", "\(file.bondCount), \(place)"))
    }
    lines.append(("programs", HubWords.total(status.programs.count, counts.otherProgramCount)))
    lines.append(("links", HubWords.total(status.links.count, counts.otherLinkCount)))
    if !status.networkPrograms.isEmpty || counts.refusals.otherNetworkProgramCount > 0 {
      let otherCount = counts.refusals.otherNetworkProgramCount
      lines.append(("network", HubWords.total(status.networkPrograms.count, otherCount)))
    }
    lines.append(("refused", HubWords.refused(counts)))
    lines.append(("dropped", HubWords.dropped(counts)))
    return lines
  }

  private var programs: [[String]] {
    guard !status.programs.isEmpty else { return [] }
    let rows = status.programs.map { program in
      [
        program.app, "\(program.processID)", "\(program.userID)", program.unit ?? "–",
        HubWords.text(program.age),
        program.lastUse.map(HubWords.text) ?? "–", HubWords.holdings(of: program),
        HubWords.waits(of: program),
      ]
    }
    return [["PROGRAM", "PROCESS", "USER", "UNIT", "FOR", "USED RADIO", "HOLDS", "WAITS FOR"]]
      + rows
  }

  private var links: [[String]] {
    guard !status.links.isEmpty else { return [] }
    let rows = status.links.map { link in
      [
        link.name ?? "–", link.peer, link.role?.rawValue ?? "–", HubWords.state(of: link),
        HubWords.users(of: link, names),
      ]
    }
    return [["PEER", "ADDRESS", "ROLE", "STATE", "USED BY"]] + rows
  }

  private var networkPrograms: [[String]] {
    guard !status.networkPrograms.isEmpty else { return [] }
    let rows = status.networkPrograms.map { program in
      [
        HubWords.name(of: program, among: status.programs), "\(program.processID)",
        "\(program.userID)", HubWords.holdings(of: program),
      ]
    }
    return [["MULTICAST DNS", "PROCESS", "USER", "HOLDS"]] + rows
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
      "bondFile": status.bondFile.map { .string($0.path) },
      "bondCount": status.bondFile.map { Self.json($0.bondCount) },
      "bondProblem": status.bondFile?.problem.map { .string($0) },
      "networkProblem": status.networkProblem.map { .string($0) },
      "isSimulated": .bool(status.radio.isSimulated),
      "programs": .array(status.programs.map(Self.json)),
      "links": .array(status.links.map(Self.json)),
      "networkPrograms": .array(status.networkPrograms.map(Self.json)),
      "connectionCount": Self.json(counts.connectionCount),
      "otherProgramCount": Self.json(counts.otherProgramCount),
      "otherLinkCount": Self.json(counts.otherLinkCount),
      "refusedCount": Self.json(counts.refusedCount),
      "limitedRequestCount": Self.json(counts.limitedRequestCount),
      "droppedValueCount": Self.json(counts.droppedValueCount),
      "droppedReportCount": Self.json(counts.droppedReportCount),
      "expiredRequestCount": Self.json(counts.expiredRequestCount),
      "shortenedKeepingCount": Self.json(counts.refusals.shortenedKeepingCount),
      "unkeptSessionCount": Self.json(counts.refusals.unkeptSessionCount),
      "refusedNetworkCount": Self.json(counts.refusals.networkConnectionCount),
      "limitedNetworkRequestCount": Self.json(counts.refusals.networkRequestCount),
      "descriptorShortageCount": Self.json(counts.refusals.descriptorShortageCount),
      "otherNetworkProgramCount": Self.json(counts.refusals.otherNetworkProgramCount),
    ])
  }

  private static func json(_ program: Program) -> JSON {
    .object([
      "connection": .integer(Int64(clamping: program.connection)), "app": .string(program.app),
      "process": json(program.processID), "user": json(Int(program.userID)),
      "unit": program.unit.map { .string($0) },
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

  private static func json(_ program: HubWire.HubStatus.NetworkProgram) -> JSON {
    .object([
      "process": json(program.processID), "user": json(Int(program.userID)),
      "name": .string(program.name), "serviceCount": json(program.serviceCount),
      "recordCount": json(program.recordCount), "browserCount": json(program.browserCount),
      "queryCount": json(program.queryCount), "waitingByteCount": json(program.waitingByteCount),
    ])
  }

  private static func json(_ count: Int) -> JSON { .integer(Int64(count)) }
}
