import Essentials

extension AppMachine {
  /// The rules of the machine that don't hold.
  ///
  /// - Parameter limit: How many entries of each table are checked. Sums are where there are no more.
  package func violations(perTable limit: Int = .max) -> [String] {
    var found: [String] = []
    for (id, app) in apps.prefix(limit) {
      if id != app.id { found.append("an app has the name of another one") }
      found += app.violations(limits, perTable: limit).map { "\(id.rawValue): \($0)" }
      if let process = app.process, processes[process.id] != id {
        found.append("\(id.rawValue): its process is not in the table")
      }
    }
    for (process, id) in processes.prefix(limit) where apps[id]?.process?.id != process {
      found.append("process \(process.rawValue) is in the table and has no app")
    }
    return found
  }
}

extension AppState {
  func violations(_ limits: AppLimits, perTable limit: Int) -> [String] {
    var found = queue.violations(perTable: limit)
    if queue.count > limits.waitingCountMax { found.append("too many events wait") }
    if queue.byteCount > limits.waitingByteCountMax { found.append("too many bytes wait") }
    if alerts.count > limits.alertCountMax { found.append("there are too many alerts") }
    if isRemoved, !wants.isEmpty, process == nil { found.append("a removed app has wishes") }
    if let process { found += violations(of: process, limits, perTable: limit) }
    let accounted =
      counts.handedCount + counts.coalescedCount + counts.discardedCount + counts.refusedCount
      + counts.unseenAlertCount + queue.count + alerts.count { $0.event != nil }
      + (opensWhenGone?.event == nil ? 0 : 1)
    if accounted != counts.arrivedCount {
      found.append("of \(counts.arrivedCount) events, \(accounted) are accounted for")
    }
    return found
  }

  private func violations(
    of process: AppProcess, _ limits: AppLimits, perTable limit: Int
  ) -> [String] {
    var found: [String] = []
    switch process.stage {
    case .launching:
      if !process.handed.isEmpty { found.append("it got something before it was launched") }
    case .active, .inactive:
      if process.handed.contains(where: { $0.deadline != nil }) {
        found.append("it has to handle an event in time, in the foreground")
      }
      if process.backgroundSince != nil { found.append("it is in the background, too") }
    case .background:
      if process.isIdle { found.append("it runs in the background without a reason") }
      if process.handed.contains(where: { $0.deadline == nil }) {
        found.append("it has no time for an event, in the background")
      }
    case .suspended:
      if !process.backgroundTasks.isEmpty || !process.work.isEmpty {
        found.append("it is suspended and has work")
      }
    case .ending: break
    }
    if !process.hasResumed, process.isAwake {
      found.append("it runs and has not reported since it was adopted")
    }
    if case .suspended(_, false) = process.stage, !process.handed.isEmpty {
      found.append("it is suspended and has something to acknowledge")
    }
    if process.isAwake {
      if !process.unsent.isEmpty { found.append("something for it was not sent") }
      let isDeliverable = queue.entries.prefix(limit).contains {
        process.receivers.contains($0.event.receiver)
          && !(process.isBackground && $0.waitsForForeground)
      }
      if isDeliverable, process.handed.count < limits.handedCountMax {
        found.append("an event waits for it though it could get it")
      }
    }
    if !process.restorable.isDisjoint(with: process.receivers) {
      found.append("a manager gets events before its state")
    }
    // Transitions and restored states are not held back.
    if process.handed.count(where: { $0.event != nil }) > limits.handedCountMax {
      found.append("it has too many events to acknowledge")
    }
    return found
  }
}
