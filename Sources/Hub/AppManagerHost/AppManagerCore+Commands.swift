import AppHubMachines
import AppMachines
import AppSessions
import Essentials
import EventLoop
import InfoPlists
import StateFiles

// Commands of the person.

extension AppManagerCore {
  func perform(_ command: AppManagerCommand, _ connection: AppCommandConnection) {
    do throws(CommandRefusal) {
      switch command {
      case .install(let folder): connection.finish(try install(folder))
      case .remove(let name):
        try remove(name)
        connection.finish(.done)
      case .status: connection.finish(.status(status()))
      case .open(let name, let attaches): try open(name, attaches: attaches, connection)
      case .background(let name):
        let id = try running(name)
        handle(.life(.person(id, .sentToBackground)))
        connection.finish(.done)
      case .forceQuit(let name):
        handle(.life(.person(try installed(name), .forceQuit)))
        connection.finish(.done)
      case .terminate(let name):
        try terminate(name)
        connection.finish(.done)
      case .push(let notification): connection.finish(try push(notification))
      case .openAlert(let name, let number):
        try openAlert(name, number)
        connection.finish(.done)
      case .displayOn:
        handle(.life(.displaySwitchedOn))
        connection.finish(.done)
      case .log(let name):
        connection.finish(.log(apps[try installed(name)]?.output.lines ?? []))
      }
    } catch { connection.finish(.failed(error.kind, error.sentence)) }
  }

  /// Why a command has no effect.
  struct CommandRefusal: Error {
    var kind: AppCommandFailure
    /// Without a full stop.
    var sentence: String

    init(_ kind: AppCommandFailure, _ sentence: String) {
      self.kind = kind
      self.sentence = sentence
    }
  }

  func installed(_ name: String) throws(CommandRefusal) -> AppID {
    let id = AppID(name)
    guard apps[id] != nil else {
      throw CommandRefusal(.notInstalled, "no app \(name) is installed")
    }
    return id
  }

  private func running(_ name: String) throws(CommandRefusal) -> AppID {
    let id = try installed(name)
    guard machine.life.state(of: id) != .notRunning else {
      throw CommandRefusal(.wrongState, "\(name) doesn't run")
    }
    return id
  }

  // MARK: The list of apps

  private func install(_ folder: String) throws(CommandRefusal) -> AppCommandReply {
    let bundle: AppBundle
    do throws(AppBundleError) { bundle = try AppBundle(folder: folder) } catch {
      throw CommandRefusal(error.kind, error.sentence)
    }
    let id = AppID(bundle.identifier)
    let known = apps[id]
    if let known, known.record.folder != folder {
      throw CommandRefusal(
        .identifierTaken,
        "the identifier \(bundle.identifier) is that of the app in \(known.record.folder)")
    }
    if known == nil, apps.count >= Self.appCountMax {
      throw CommandRefusal(.limit, "\(Self.appCountMax) apps are installed, and no more can be")
    }
    let record = InstalledAppRecord(
      identifier: bundle.identifier, folder: folder, description: bundle.infoPlist.description)
    var changed = known ?? App(record: record)
    changed.record = record
    try save(changing: id, to: changed)
    handle(.life(.installed(id, record.description)))
    return .installed(bundle.identifier, isNew: known == nil)
  }

  private func remove(_ name: String) throws(CommandRefusal) {
    let id = try installed(name)
    try save(changing: id, to: nil)
    handle(.life(.removed(id)))
  }

  /// Changes the list in the store, and then here.
  private func save(changing id: AppID, to app: App?) throws(CommandRefusal) {
    var changed = apps
    changed[id] = app
    let contents = contents(changed)
    do throws(StateFileError) { try store.write(contents) } catch {
      throw CommandRefusal(.notSaved, "the list of apps can't be written: \(error.reason)")
    }
    savedContents = contents
    apps = changed
    reportStore()
  }

  // MARK: States

  private func open(
    _ name: String, attaches: Bool, _ connection: AppCommandConnection
  ) throws(CommandRefusal) {
    let id = try installed(name)
    guard let folder = apps[id]?.record.folder else { return }
    if program(of: id) == nil {
      // An error of the folder is the command's, and not the log's.
      do throws(AppBundleError) { try refresh(id, AppBundle(folder: folder)) } catch {
        throw CommandRefusal(error.kind, error.sentence)
      }
    }
    if attaches {
      connection.watched = id
      watchers[id, default: []].append(connection)
      connection.send(.opened)
    }
    handle(.life(.person(id, .opened)))
    if !attaches { connection.finish(.done) }
  }

  /// The folder may have another version of the app since it was read.
  private func refresh(_ id: AppID, _ bundle: AppBundle) {
    let description = bundle.infoPlist.description
    guard bundle.identifier == id.rawValue, apps[id]?.record.description != description else {
      return
    }
    apps[id]?.record.description = description
    handle(.life(.installed(id, description)))
  }

  private func terminate(_ name: String) throws(CommandRefusal) {
    let id = try running(name)
    guard machine.life.state(of: id) == .suspended else {
      throw CommandRefusal(
        .wrongState, "\(name) isn't suspended; the system ends no other app for its memory")
    }
    handle(.life(.memoryPressure(.criticalFor(id))))
  }

  // MARK: The state

  private func status() -> AppManagerStatus {
    let now = Instant.now
    // Without this, the manager's own children would be read once for each app.
    let known = ProcessTable.KnownProcesses()
    let shown = machine.life.status.compactMap { status -> AppManagerStatus.App? in
      guard let app = apps[status.id] else { return nil }
      let use = machine.radioUse(of: status.id)
      let program = program(of: status.id)
      var shown = AppManagerStatus.App(
        identifier: status.id.rawValue, folder: app.record.folder, state: status.state,
        waitingCount: status.waitingCount, isForceQuit: status.isForceQuit, counts: status.counts,
        processorTime: app.endedProcessorTime + (program?.processorTime(known) ?? 0),
        pendingConnectionCount: use.pendingConnections.count,
        connectionCount: use.connections.count, scanCount: use.scanCount)
      shown.processID = program?.processID
      shown.heldSockets = sockets.sockets(of: status.id)
      show(status.id, in: &shown)
      shown.wakes = app.wakes.wakes
      let time = machine.life.backgroundTimeRemaining(of: status.id, now: now)
      shown.timeRemaining = status.state == .background ? time?.seconds : nil
      shown.pause = status.pausedUntil.map { max(.zero, $0 - now).seconds }
      shown.failure = machine.life.failures(of: status.id, now: now) == nil ? nil : app.failure
      return shown
    }
    var status = AppManagerStatus(
      apps: shown, freezer: freezer.description, memory: memoryWatch?.way ?? "none",
      droppedEventCount: machine.droppedCount,
      reports: reports)
    status.isWritten = isWritten
    return status
  }
}
