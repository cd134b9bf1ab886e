import AppHubMachines
import AppMachines
import Essentials
import EventLoop
import Glibc
import StateFiles

// Processes outlive a manager that was ended by force. The next one takes them over: the frozen ones stay frozen.

extension AppManagerCore {
  /// Takes over the processes of the last manager, and ends those whose app is gone.
  ///
  /// - Throws: In a shortage, with which nothing shows whether an app is gone. No process was changed then.
  func adopt(_ records: [AppProcessRecord]) throws(SystemError) {
    // Before the first of them is looked at: they may have one parent, and none is another's helper.
    firsts.numbers.formUnion(records.map(\.processID))
    var adopted: [AppProgram?] = []
    do throws(SystemError) {
      var taken: Set<AppID> = []
      for record in records {
        let isFirst = taken.insert(AppID(record.app)).inserted
        adopted.append(try isFirst ? self.adopted(record) : nil)
      }
    } catch {
      for program in adopted { program?.close() }
      throw error
    }
    var count = 0
    let known = ProcessTable.KnownProcesses()
    for (record, program) in zip(records, adopted) {
      guard let program else {
        end(record)
        firsts.numbers.remove(record.processID)
        report("\(record.app) can't be taken over from the last manager, and is ended")
        continue
      }
      count += 1
      programs[program.id] = program
      let isFrozen = program.group.isFrozen
      firsts.known = isFrozen ? known : nil
      if isFrozen { program.group.adoptAdjustments() } else { program.group.thawAll() }
      let adoption = AppMachine.AppAdoption(
        isFrozen: isFrozen, isInForeground: record.isInForeground)
      handle(.life(.adopted(AppID(record.app), program.id, adoption)))
      firsts.known = nil
      if record.mustResume { handle(.life(.mustResume(AppID(record.app)))) }
    }
    guard count > 0 else { return }
    adoptedTimer?.set(.now + Self.adoptedInterval)
    report("taken over from the last manager: \(count) \(count == 1 ? "process" : "processes")")
  }

  /// The process of a record; nil if it has ended, or its app is gone.
  private func adopted(_ record: AppProcessRecord) throws(SystemError) -> AppProgram? {
    let app = AppID(record.app)
    guard let folder = apps[app]?.record.folder, machine.life.state(of: app) == .notRunning,
      let bundle = bundle(of: record, in: folder), bundle.identifier == record.app,
      let process = try record.openProcess()
    else { return nil }
    let group = AppProcessGroup(
      adopting: process, mark: record.mark, home: folder, freezer: freezer, firsts)
    let program = AppProgram(id: record.id, bundle: bundle, mark: record.mark, group: group)
    do throws(SystemError) {
      try watch(program, output: try Self.output(of: record.processID))
    } catch {
      program.close()
      throw error
    }
    return program
  }

  /// Reads the folder of an app whose process runs. One that can't be read for now is as it was when the process began.
  private func bundle(of record: AppProcessRecord, in folder: String) -> AppBundle? {
    do throws(AppBundleError) { return try AppBundle(folder: folder) } catch {
      guard error.isUnreadable, let infoPlist = record.infoPlist else { return nil }
      report("\(record.app) goes on as it was: \(error.sentence)")
      return AppBundle(running: record.app, in: folder, infoPlist)
    }
  }

  /// The readable end of the pipe to which a process writes; nil if its output is something else, or it has ended.
  private static func output(of processID: pid_t) throws(SystemError) -> Int32? {
    let path = "/proc/\(processID)/fd/\(STDOUT_FILENO)"
    var information = stat()
    guard stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFIFO else {
      return nil
    }
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    if descriptor >= 0 { return descriptor }
    let error = SystemError.current
    // Without a reader, the process would be ended by its next line.
    guard [ENOENT, ESRCH, EACCES, EPERM].contains(error.number) else { throw error }
    return nil
  }

  private func end(_ record: AppProcessRecord) {
    let process: ProcessDescriptor
    do throws(SystemError) {
      guard let open = try record.openProcess() else { return }
      process = open
    } catch { return report("\(record.app) can't be ended: \(error.text)") }
    AppProcessGroup(
      adopting: process, mark: record.mark, home: nil, freezer: freezer, firsts
    ).kill()
    // The app may be launched again next.
    process.awaitEnd()
  }

  // MARK: The list for the next manager

  func follow(_ event: AppHubMachine.Event) {
    followFailures(event)
    switch event {
    case .life(.person), .life(.process(_, .launched)), .life(.process(_, .resumed)):
      saveProcessesSoon()
    default: break
    }
  }

  /// Changes come together.
  func saveProcessesSoon() {
    guard !isSavingProcesses else { return }
    isSavingProcesses = true
    processTimer?.set(.now + Self.processDelay)
  }

  func saveProcesses() {
    isSavingProcesses = false
    let records = programs.values.filter { !$0.hasExited }.sorted { $0.id < $1.id }.compactMap {
      record(of: $0)
    }
    guard records != savedProcesses else { return }
    do throws(StateFileError) {
      try processFile.write(records)
      savedProcesses = records
    } catch {
      if !isClosed { report("the list of processes can't be written: \(error.reason)") }
      isSavingProcesses = true
      processTimer?.set(.now + Self.processRetryDelay)
    }
  }

  private func record(of program: AppProgram) -> AppProcessRecord? {
    guard let startTime = program.startTime else { return nil }
    let app = AppID(program.bundle.identifier)
    let state = machine.life.state(of: app)
    return AppProcessRecord(
      app: app.rawValue, id: program.id, processID: program.processID, startTime: startTime,
      mark: program.mark, isInForeground: state == .active || state == .inactive,
      mustResume: machine.life.needsProcess(app), infoPlist: program.bundle.infoPlist)
  }

  private static let processDelay = TimeSpan.milliseconds(50)
  private static let processRetryDelay = TimeSpan.seconds(30)
}
