import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import HubClient
import HubClientMachines
import HubWire
import JSONWire

/// Prints the state of a hub's radio, or bluetoothd's, as far as programs see it.
struct SharedRadioStatus {
  /// The state and the links that a session's first events have.
  private struct Shown: Sendable {
    var state = RadioState.unknown
    var links: [LinkInfo] = []
  }

  private let session: Session
  private let hub: String
  private let problem: String?

  /// The longest time that a host has for the beginning of a session.
  private static let answerTime = Duration.seconds(5)

  /// - Parameters:
  ///   - session: The session that uses the host.
  ///   - hub: Where the hub listens, or why none is used.
  ///   - problem: The reason why its radio can't be used; nil if it can.
  init(_ session: Session, hub: String, problem: String?) {
    self.session = session
    self.hub = hub
    self.problem = problem
  }

  func write() async {
    async let hubStatus = hubStatus()
    let shown = await shown()
    let (status, hubProblem) = await hubStatus
    // A hub that has not answered may have either kind of radio.
    let hasAnswered = session.host.problem == nil && shown.state != .unknown
    let isSimulated = hasAnswered ? session.host.isSimulated : nil
    if session.output.isJSON {
      return session.output.object(json(shown, isSimulated, status, hubProblem))
    }
    var lines: [StatusReport.Line] = [
      ("radio", session.radioTitle), ("hub", hub), ("state", StatusReport.text(shown.state)),
    ]
    if let problem { lines.append(("problem", problem)) }
    if let hubProblem { lines.append(("hub's state", hubProblem)) }
    if let network = status?.networkProblem { lines.append(("network", network)) }
    if let problem = status?.bondFile?.problem { lines.append(("bond file", problem)) }
    if let isSimulated { lines.append(("simulated", isSimulated ? "yes" : "no")) }
    lines += shown.links.map { ("link", text($0)) }
    if shown.links.isEmpty { lines.append(("links", "none")) }
    StatusReport.write(lines, session.output)
  }

  /// The hub's state, or the reason why it is not known; neither without a hub.
  private func hubStatus() async -> (HubWire.HubStatus?, problem: String?) {
    guard let path = session.host.hubPath else { return (nil, nil) }
    do throws(HubFailure) { return (try await HubStatusReader.read(at: path), nil) } catch {
      return (nil, error.sentence)
    }
  }

  /// The links of the host, and then the state of its radio, once that is known.
  private func shown() async -> Shown {
    let (ends, end) = AsyncStream.makeStream(of: Shown.self, bufferingPolicy: .bufferingNewest(1))
    let begun = Guarded(Shown())
    let session = self.session.host.openSession { event in
      switch event {
      case .linkOpened(let link): begun.update { $0.links.append(link) }
      case .stateChanged(let state) where state != .unknown:
        end.yield(
          begun.update { shown in
            shown.state = state
            return shown
          })
      default: break
      }
    }
    defer { session.close() }
    let shown = try? await race(Self.answerTime) { await ends.first { _ in true } }
    return (shown ?? nil) ?? begun.value
  }

  private func json(
    _ shown: Shown, _ isSimulated: Bool?, _ status: HubWire.HubStatus?, _ hubProblem: String?
  ) -> JSON {
    .object([
      "event": .string("status"), "time": .time(Date()),
      "radio": .string(session.host.radioText), "title": .string(session.host.title),
      "hub": session.host.hubPath.map { JSON.string($0) } ?? .null,
      "problem": problem.map { .string($0) },
      "hubProblem": hubProblem.map { .string($0) },
      "networkProblem": status?.networkProblem.map { .string($0) },
      "bondProblem": status?.bondFile?.problem.map { .string($0) },
      "controller": .object(["state": .string(shown.state.rawValue)]),
      "links": .array(shown.links.map(json)),
      // Each object has it where devices are simulated.
      "simulated": isSimulated == false ? .bool(false) : nil,
    ])
  }

  /// Whether the parameters of a link are known. A hub gives them, with the interval, to the programs that use it.
  private func knowsParameters(_ link: LinkInfo) -> Bool {
    session.host.hubPath == nil || link.role == .central && link.intervalUnits > 0
  }

  private func json(_ link: LinkInfo) -> JSON {
    let isKnown = knowsParameters(link)
    return .object([
      "peer": .string(link.peer.description), "name": link.name.map { .string($0) },
      "role": .string(link.role.rawValue),
      "mtu": isKnown ? .integer(Int64(link.mtu)) : nil,
      "isEncrypted": isKnown ? .bool(link.isEncrypted) : nil,
    ])
  }

  private func text(_ link: LinkInfo) -> String {
    let parameters =
      knowsParameters(link) ? [link.encryption.map(StatusReport.text), "MTU \(link.mtu)"] : []
    let name = link.name.map { "\($0) (\(link.peer))" } ?? "\(link.peer)"
    return ([name, link.role.rawValue] + parameters).compactMap(\.self).joined(separator: ", ")
  }
}
