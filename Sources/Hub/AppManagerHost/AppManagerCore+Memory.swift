import AppHubMachines
import AppMachines
import Essentials
import EventLoop
import Glibc

// The machine's memory, and processes that apps have left behind.

extension AppManagerCore {
  func watchMemory() {
    memoryEndedCount = memory.endedCount
    memoryWatch = MemoryPressureWatch(memory, on: loop) { [weak self] in self?.pressed($0) }
    adoptedTimer = loop.makeTimer { [weak self] in self?.reapAdopted() }
  }

  private func pressed(_ pressure: AppMachine.MemoryPressure) {
    // Without a suspended app, those that run are warned.
    let hasSuspended = machine.life.status.contains { $0.state == .suspended }
    let isCritical = pressure == .critical
    handle(.life(.memoryPressure(isCritical && !hasSuspended ? .warning : pressure)))
  }

  /// Whether the kernel has ended a process for its memory: it was killed, not by this manager, and the kernel's count of
  /// such ends has grown.
  func isReclaimed(_ exit: AppExit, _ program: AppProgram) -> Bool {
    guard let count = memory.endedCount else { return false }
    defer { memoryEndedCount = count }
    return exit == .signal(SIGKILL) && !program.group.wasKilled && count > memoryEndedCount ?? count
  }

  /// Helpers of apps whose parents have ended are children of this process, and stay zombies until it waits for them.
  static let adoptedInterval = TimeSpan.seconds(2)

  private func reapAdopted() {
    guard !programs.isEmpty, !isClosed else { return }
    defer { adoptedTimer?.set(.now + Self.adoptedInterval) }
    guard ProcessTable.hasEndedChild else { return }
    ProcessTable.reapAdopted(but: Set(programs.values.map(\.processID)).union(alerts.processIDs))
  }
}
