import AppHubMachines
import AppMachines
import Essentials
import EventLoop
import Glibc
import StateFiles

// Processes outlive a manager that was ended by force. The next one takes them over: the frozen ones stay frozen.

extension AppManagerCore {
  /// Takes over the processes of the last manager, and ends those that it can't.
  func adopt(_ records: [AppProcessRecord]) {
    var count = 0
    // Before the first of them is looked at: they may have one parent, and none is another's helper.
    firsts.numbers.formUnion(records.map(\.processID))
    let known = ProcessTable.KnownProcesses()
    for record in records {
      guard let program = adopted(record) else {
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

  private func adopted(_ record: AppProcessRecord) -> AppProgram? {
    let app = AppID(record.app)
    guard let folder = apps[app]?.record.folder, machine.life.state(of: app) == .notRunning,
      let bundle = try? AppBundle(folder: folder), bundle.identifier == record.app,
      let process = try? ProcessDescriptor.open(record.processID), record.isLeft
    else { return nil }
    let group = AppProcessGroup(
      adopting: process, mark: record.mark, home: folder, freezer: freezer, firsts)
    let program = AppProgram(id: record.id, bundle: bundle, mark: record.mark, group: group)
    do throws(SystemError) { try watch(program, output: Self.output(of: record.processID)) } catch {
      program.close()
      return nil
    }
    return program
  }

  /// The readable end of the pipe to which a process writes; nil if its output is something else.
  private static func output(of processID: pid_t) -> Int32? {
    let path = "/proc/\(processID)/fd/\(STDOUT_FILENO)"
    var information = stat()
    guard stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFIFO else {
      return nil
    }
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    return descriptor < 0 ? nil : descriptor
  }

  private func end(_ record: AppProcessRecord) {
    guard let process = try? ProcessDescriptor.open(record.processID), record.isLeft else { return }
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
      mustResume: machine.life.needsProcess(app))
  }

  private static let processDelay = TimeSpan.milliseconds(50)
  private static let processRetryDelay = TimeSpan.seconds(30)
}
