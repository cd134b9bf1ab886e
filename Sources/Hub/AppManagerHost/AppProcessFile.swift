import AppMachines
import AppSessions
import EventLoop
import Foundation
import InfoPlists
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
  /// Of its app, for a next manager that can't read it for a moment.
  var infoPlist: InfoPlist?

  /// Returns whether the process runs on.
  ///
  /// - Throws: If that can't be found out, as in a shortage of descriptors.
  func isLeft() throws(SystemError) -> Bool {
    guard let stat = try TextFile.contents(ProcessTable.statPath(processID)),
      let entry = ProcessTable.entry(of: processID, stat),
      entry.startTime == startTime, !entry.isZombie,
      let environment = try TextFile.contents(ProcessTable.environmentPath(processID))
    else { return false }
    return ProcessTable.hasVariable("\(AppSpawn.markVariable)=\(mark)", in: environment)
  }

  /// Opens the process; nil if it has ended.
  ///
  /// - Throws: If that can't be found out, as in a shortage of descriptors.
  func openProcess() throws(SystemError) -> ProcessDescriptor? {
    do throws(SystemError) {
      let process = try ProcessDescriptor.open(processID)
      return try isLeft() ? process : nil
    } catch {
      // EINVAL: the number is a thread's by now.
      guard error.number == ESRCH || error.number == EINVAL else { throw error }
      return nil
    }
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
  private static let byteCountMax = 1 << 24
  private static let boot = TextFile.read("/proc/sys/kernel/random/boot_id") ?? ""

  init(beside path: String) {
    file = StateFile(path: path + ".processes.json", byteCountMax: Self.byteCountMax)
  }

  /// The processes that run on, of a manager whose messages this one understands.
  ///
  /// - Throws: If the file, or a process, can't be read. A damaged file is an error of its own kind.
  func readRunning() throws(StateFileError) -> [AppProcessRecord] {
    guard let contents = try file.read(Self.decode), contents.boot == Self.boot,
      contents.version == AppManagerGreeting.version
    else { return [] }
    var numbers: Set<AppProcessID> = []
    var running: [AppProcessRecord] = []
    // A damaged file must not leave the machine without numbers.
    for record in contents.processes
    where record.id.rawValue < 1 << 62 && numbers.insert(record.id).inserted {
      do throws(SystemError) { if try record.isLeft() { running.append(record) } } catch {
        throw StateFileError(.unreadable, error.text)
      }
    }
    return running
  }

  func write(_ processes: [AppProcessRecord]) throws(StateFileError) {
    var data = Self.encode(processes)
    if data.count > Self.byteCountMax {
      // Without the part that serves for an unreadable folder alone.
      data = Self.encode(
        processes.map { record in
          var record = record
          record.infoPlist = nil
          return record
        })
    }
    try file.change(replacingDamaged: true, Self.decode) { _ in Array(data) }
  }

  private static func encode(_ processes: [AppProcessRecord]) -> Data {
    let contents = Contents(
      version: AppManagerGreeting.version, boot: Self.boot, processes: processes)
    guard let data = try? JSONEncoder().encode(contents) else {
      preconditionFailure("a list of processes can't be encoded")
    }
    return data
  }

  private static func decode(_ bytes: [UInt8]) throws(StateFileDecodingError) -> Contents {
    guard let contents = try? JSONDecoder().decode(Contents.self, from: Data(bytes)) else {
      throw .damaged("it is no list of processes")
    }
    return contents
  }
}
