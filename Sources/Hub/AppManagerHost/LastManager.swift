import AppHubMachines
import AppMachines
import EventLoop
import StateFiles

/// The lists that the last manager has written for the next one, beside its socket. They are read before anything is
/// changed: unknown processes would be ended, and unknown sockets closed.
struct LastManager {
  /// The processes of apps that run on.
  private(set) var processes: [AppProcessRecord] = []
  private(set) var sockets = HeldSocketFile.Contents()
  /// Losses, as sentences for the log.
  private(set) var reports: [String] = []

  /// - Throws: If a list can't be read for now, or is no file of this user's. A damaged one has nothing, and is reported.
  init(at path: String) throws(AppManagerServerError) {
    do throws(StateFileError) { processes = try AppProcessFile(beside: path).readRunning() } catch {
      try lost("processes", error)
    }
    do throws(StateFileError) { sockets = try HeldSocketFile(beside: path).read() } catch {
      try lost("held sockets", error)
    }
  }

  private mutating func lost(_ list: String, _ error: StateFileError) throws(AppManagerServerError)
  {
    guard error.kind == .damaged else { throw .list(list, error.reason) }
    reports.append(
      "the list of \(list) that the last manager has left is damaged, and none is taken over: \(error.reason)"
    )
  }
}

extension AppManagerCore {
  /// Begins with the apps that were installed.
  ///
  /// - Parameter last: The lists of the last manager.
  /// - Throws: Before anything of it has changed.
  func begin(after last: LastManager) throws(AppManagerServerError) {
    let contents: AppStoreContents
    do throws(StateFileError) { contents = try store.read() } catch { throw .store(error.reason) }
    reportStore()
    for sentence in last.reports { report(sentence) }
    for record in contents.apps.prefix(Self.appCountMax) {
      let id = AppID(record.identifier)
      apps[id] = App(record: record)
      handle(.life(.installed(id, record.description)))
    }
    restoreFailures(contents.details)
    // Before the others, which may launch an app that has no process.
    do throws(SystemError) { try sockets.prepare() } catch { throw .sockets(error) }
    do throws(SystemError) { try adopt(last.processes) } catch { throw .processes(error) }
    for record in contents.managers {
      let manager = PreservedManager(
        app: AppID(record.app), manager: record.manager, bytes: record.holdings)
      guard let manager else {
        report("the state of \(record.manager) of \(record.app) can't be read, and is given up")
        continue
      }
      handle(.preserved(manager))
    }
    restore(contents.details)
    sockets.begin(last.sockets)
    saveProcesses()
  }
}
