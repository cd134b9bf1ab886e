internal import BluetoothInterface
internal import Essentials
internal import Logging
internal import Synchronization

/// Whether a host preserves the state of a manager, and under which name.
struct Preservation: Sendable, Equatable {
  /// The name of the session; empty for a manager without a restore identifier.
  var name: String
  /// Whether the host is asked to keep the session when the process has ended.
  var isKept: Bool

  static let none = Preservation(name: "", isKept: false)

  /// The kinds of managers.
  enum Role {
    case central
    case peripheral

    var className: String { self == .central ? "CBCentralManager" : "CBPeripheralManager" }
    var backgroundMode: String { self == .central ? "bluetooth-central" : "bluetooth-peripheral" }

    func sessionName(_ identifier: String) -> String {
      self == .central ? SessionName.central(identifier) : SessionName.peripheral(identifier)
    }
  }
}

extension Preservation {
  /// Decides for a manager with this restore identifier.
  init(_ role: Role, _ identifier: String?, on host: any HostSessionProvider) {
    guard let identifier, !identifier.isEmpty else {
      self = .none
      return
    }
    self.init(name: role.sessionName(identifier), isKept: false)
    guard let keeping = host as? any KeepingSessionProvider else {
      Notices.report("Nothing is restored in the next run of the program: it uses no hub.")
      return
    }
    guard let modes = keeping.backgroundModes ?? BackgroundModes.ofProgram else {
      Notices.report(
        "The program has no Info.plist that can be used, so that all background modes count as declared."
      )
      isKept = true
      return
    }
    isKept = modes.contains(role.backgroundMode)
    guard !isKept else { return }
    // Apple's framework raises an exception with this text.
    Misuse.report(
      "State restoration of \(role.className) is only allowed for applications that have specified "
        + "the \"\(role.backgroundMode)\" background mode")
  }

  /// Logs that a host does not preserve the state of a manager.
  func report(_ attachment: SessionAttachment) {
    if !attachment.holdsName {
      Misuse.report(
        "The restore identifier of \(name) is that of another manager which is open, here or in another process of the "
          + "program: the state of this one is not preserved")
    } else if attachment.keptFor == .zero {
      Notices.report("The hub's rules preserve no state of \(name).")
    }
  }
}

/// Logs sentences that report no mistake of the app, each once.
private enum Notices {
  private static let reported = Mutex<Set<String>>([])
  private static let reportedMax = 64

  static func report(_ message: String) {
    let isNew = reported.withLock { $0.count < reportedMax && $0.insert(message).inserted }
    if isNew { Logger(label: "CoreBluetooth").notice("\(message)") }
  }
}
