import AppMachines
internal import Synchronization

// A system that was started again: it knows that this process runs, and nothing of what it has open.

extension AppSession {
  /// Whether the process can go on with another system. One that no system has started has nothing to go on with.
  var canResume: Bool { state.withLock { $0.hasStarted && !$0.hasEnded } }

  /// The reports with which the next system knows what this process has open. What the last one has delivered is not
  /// acknowledged any more.
  func resumptionReports() -> [AppMachine.ProcessEvent] {
    state.withLock { state in
      state.acknowledgedCount += state.handled.count
      state.handled = []
      var reports = state.receivers.keys.sorted { "\($0)" < "\($1)" }.map {
        AppMachine.ProcessEvent.opened($0)
      }
      // The next system holds them until then, and their peers wait.
      reports += (state.closedSockets ?? []).map { .closed(.heldSocket($0)) }
      state.closedSockets = nil
      reports += state.begun.sorted().map { .beganBackgroundTask($0) }
      if state.isLaunched {
        reports.append(.resumed(isInForeground: state.isInForeground))
      } else {
        state.resumesWhenLaunched = true
      }
      return reports
    }
  }

  /// Has the next system hold the sockets that the last one held.
  func holdSocketsAgain() {
    // First all lose their numbers, since the next system may give the number of one to another.
    let sockets = state.withLock { state in
      state.closedSockets = []
      for receiver in Array(state.receivers.keys) {
        if case .heldSocket = receiver { state.receivers[receiver] = nil }
      }
      return state.heldSockets
    }
    for socket in sockets { socket.forgetNumber() }
    for socket in sockets { socket.holdAgain() }
  }
}
