import AppMachines
import AppSessions
import Foundation
import StateFiles

/// A process of an app for the next manager. Its number may be another's by then: with the start time and the boot it
/// can't. That its manager has ended is known by the claim to the socket.
struct AppProcessRecord: Codable, Hashable {
  var app: String
  var id: AppProcessID
  var processID: Int32
  /// In ticks since the boot.
  var startTime: UInt64
  /// The value of the variable by which its processes are known.
  var mark: String
  var isInForeground: Bool
  /// Whether the system did something for it that it has to request again.
  var mustResume: Bool

  /// Whether the process runs on.
  var isLeft: Bool {
    guard let entry = ProcessTable.entry(of: processID) else { return false }
    return entry.startTime == startTime && !entry.isZombie
      && ProcessTable.hasEnvironment("\(AppSpawn.markVariable)=\(mark)", processID)
  }
}

/// The list of processes for the next manager: a file beside the manager's socket, which is gone after a restart of the
/// machine, as the processes are.
struct AppProcessFile {
  private struct Contents: Codable {
    /// Of the messages between these processes and their manager.
    var version: Int
    /// Which boot of the machine it is (/proc/sys/kernel/random/boot_id).
    var boot: String
    var processes: [AppProcessRecord]
  }

  private let file: StateFile
  private static let byteCountMax = 1 << 20
  private static let boot = TextFile.read("/proc/sys/kernel/random/boot_id") ?? ""

  init(beside path: String) {
    file = StateFile(path: path + ".processes.json", byteCountMax: Self.byteCountMax)
  }

  /// The processes that run on, of a manager whose messages this one understands. None if the file can't be read.
  func readRunning() -> [AppProcessRecord] {
    guard let contents = try? file.read(Self.decode), contents.boot == Self.boot,
      contents.version == AppManagerGreeting.version
    else { return [] }
    var numbers: Set<AppProcessID> = []
    return contents.processes.filter {
      // A damaged file must not leave the machine without numbers.
      $0.id.rawValue < 1 << 62 && numbers.insert($0.id).inserted && $0.isLeft
    }
  }

  func write(_ processes: [AppProcessRecord]) throws(StateFileError) {
    let contents = Contents(
      version: AppManagerGreeting.version, boot: Self.boot, processes: processes)
    guard let data = try? JSONEncoder().encode(contents) else {
      preconditionFailure("a list of processes can't be encoded")
    }
    try file.change(replacingDamaged: true, Self.decode) { _ in Array(data) }
  }

  private static func decode(_ bytes: [UInt8]) throws(StateFileDecodingError) -> Contents {
    guard let contents = try? JSONDecoder().decode(Contents.self, from: Data(bytes)) else {
      throw .damaged("it is no list of processes")
    }
    return contents
  }
}
